-- SPDX-License-Identifier: Apache-2.0
-- speed.sql - after the tests of sqlite's own speedtest1: inserts, an index, look-ups, ranges, joins, updates, deletes,
-- text search without an index. The random numbers are a fixed series: every run does the same.
PRAGMA synchronous = NORMAL;
BEGIN;
CREATE TABLE t1(a INTEGER PRIMARY KEY, b INTEGER, c TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
  INSERT INTO t1 SELECT i, (i * 7919) % 60013, printf('row number %d of many %x', i, (i * 48271) % 2147483647) FROM n;
COMMIT;
CREATE INDEX t1b ON t1(b);
CREATE TABLE t2 AS SELECT b AS k, a AS v FROM t1 WHERE a % 3 = 0;
CREATE INDEX t2k ON t2(k);
SELECT count(*), sum(v) FROM t1 JOIN t2 ON t1.b = t2.k;
SELECT count(*), avg(length(c)) FROM t1 WHERE b BETWEEN 1000 AND 30000;
SELECT count(*) FROM t1 WHERE c LIKE '%abc%' OR c LIKE '%77%';
BEGIN;
UPDATE t1 SET c = c || ' updated' WHERE b % 5 = 0;
DELETE FROM t1 WHERE b % 11 = 0;
COMMIT;
SELECT c, count(*) FROM (SELECT substr(c, 1, 12) AS c FROM t1) GROUP BY c ORDER BY 2 DESC, 1 LIMIT 5;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
  SELECT sum((SELECT b FROM t1 WHERE a = (n.i * 31) % 60000)) FROM n;
SELECT a FROM t1 ORDER BY c DESC LIMIT 10;
DROP TABLE t2;
