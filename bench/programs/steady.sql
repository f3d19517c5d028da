-- SPDX-License-Identifier: Apache-2.0
-- steady.sql - speed.sql in small, some milliseconds, to be read again and again; prints one line.
BEGIN;
CREATE TABLE t1(a INTEGER PRIMARY KEY, b INTEGER, c TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
  INSERT INTO t1 SELECT i, (i * 7919) % 601, printf('row number %d of many %x', i, (i * 48271) % 2147483647) FROM n;
COMMIT;
CREATE INDEX t1b ON t1(b);
UPDATE t1 SET c = c || ' updated' WHERE b % 5 = 0;
DELETE FROM t1 WHERE b % 11 = 0;
SELECT count(*) + (SELECT count(*) FROM t1 WHERE c LIKE '%abc%') + (SELECT sum(a) FROM t1 WHERE b BETWEEN 10 AND 300) FROM t1;
DROP TABLE t1;
