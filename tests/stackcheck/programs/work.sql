-- SPDX-License-Identifier: Apache-2.0
-- work.sql - what a speed test of sqlite3 does: inserts, indexes, joins, sorts, text, JSON, a recursive query, full text.
pragma journal_mode=memory;
create table t1 (a integer, b integer, c text);
create table t2 (a integer, b integer, c text);
begin;
with recursive n(x) as (select 1 union all select x + 1 from n where x < 60000)
insert into t1 select x, (x * 7919) % 100003, printf('%d text %x %f', x, x * 31, x / 7.0) from n;
insert into t2 select b, a, upper(c) from t1;
commit;
create index i1 on t1 (b);
create unique index i2 on t2 (b);
select count(*), avg(b) from t1 where c like '%77%';
select t1.a, t2.c from t1 join t2 on t1.b = t2.a where t1.a % 101 = 0 order by t2.c desc limit 10;
select b % 97, group_concat(substr(c, 1, 5)) from t1 where a < 20000 group by 1 order by 2 limit 3;
update t1 set c = replace(c, 'text', 'words') where a between 1000 and 30000;
delete from t2 where b % 3 = 0;
select sum(json_extract(json_object('a', a, 'b', json_array(b, c)), '$.b[0]')) from t1 where a < 20000;
select row_number() over (partition by b % 7 order by c), sum(a) over (order by a) from t1 limit 5;
select count(distinct c), max(length(hex(randomblob(b % 50)))) from t1;
vacuum;
