// LeftAlone FILE - writes its number to FILE.pid and waits for FILE.
import java.io.File;
import java.io.FileWriter;

public class LeftAlone {
    public static void main(String[] arguments) throws Exception {
        File go = new File(arguments[0]);
        try (FileWriter number = new FileWriter(arguments[0] + ".pid")) {
            number.write(Long.toString(ProcessHandle.current().pid()));
        }
        for (int i = 0; i < 2000 && !go.exists(); i++) {
            Thread.sleep(20);
        }
    }
}
