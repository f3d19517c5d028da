SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA stallbox;
CREATE FUNCTION stallbox.gap_comes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'stallbox'
    AS $$ BEGIN IF new.unnamed > 0 THEN UPDATE module SET stalls = stalls + 1, frames = frames + new.unnamed WHERE id = new.module; END IF; RETURN NULL; END $$;
CREATE FUNCTION stallbox.gap_goes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'stallbox'
    AS $$ BEGIN UPDATE module SET stalls = module.stalls - t.stalls, frames = module.frames - t.frames FROM (SELECT module, COUNT(*) AS stalls, SUM(unnamed) AS frames FROM gone WHERE unnamed > 0 GROUP BY module) t WHERE module.id = t.module; RETURN NULL; END $$;
CREATE FUNCTION stallbox.instr(text, text) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $_$SELECT strpos($1, $2)::bigint$_$;
CREATE FUNCTION stallbox.max(bigint, bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $_$SELECT greatest($1, $2)$_$;
CREATE FUNCTION stallbox.met_comes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'stallbox'
    AS $$ BEGIN IF new.kind = 4 THEN UPDATE build SET sure = sure + 1 WHERE num = new.of; ELSIF new.of < 0 THEN UPDATE app SET machines = machines + (new.kind = 1)::int WHERE num = -new.of; ELSE UPDATE place SET sessions = sessions + (new.kind = 0)::int, machines = machines + (new.kind = 1)::int, builds = builds + (new.kind = 2)::int, sure = sure + (new.kind = 3)::int WHERE num = new.of; END IF; RETURN NULL; END $$;
CREATE FUNCTION stallbox.met_day_comes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'stallbox'
    AS $$ BEGIN UPDATE fact SET machines = machines + 1 WHERE place = new.place AND day = new.day AND build = new.build; IF new.day >= 0 THEN UPDATE fact SET machine_days = machine_days + 1 WHERE place = new.place AND day IN (-1, new.day) AND build = new.build; END IF; RETURN NULL; END $$;
CREATE FUNCTION stallbox.met_day_goes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'stallbox'
    AS $$ BEGIN UPDATE fact SET machines = fact.machines - t.machines, machine_days = fact.machine_days - t.days FROM (SELECT place, day, build, COUNT(*) AS machines, COUNT(*) FILTER (WHERE day >= 0) AS days FROM gone GROUP BY place, day, build) t WHERE fact.place = t.place AND fact.day = t.day AND fact.build = t.build; UPDATE fact SET machine_days = fact.machine_days - t.days FROM (SELECT place, build, COUNT(*) AS days FROM gone WHERE day >= 0 GROUP BY place, build) t WHERE fact.place = t.place AND fact.day = -1 AND fact.build = t.build; RETURN NULL; END $$;
CREATE FUNCTION stallbox.met_goes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'stallbox'
    AS $$ BEGIN UPDATE place SET sessions = place.sessions - t.sessions, machines = place.machines - t.machines, builds = place.builds - t.builds, sure = place.sure - t.sure FROM (SELECT of, COUNT(*) FILTER (WHERE kind = 0) AS sessions, COUNT(*) FILTER (WHERE kind = 1) AS machines, COUNT(*) FILTER (WHERE kind = 2) AS builds, COUNT(*) FILTER (WHERE kind = 3) AS sure FROM gone WHERE kind < 4 AND of >= 0 GROUP BY of) t WHERE place.num = t.of; UPDATE app SET machines = app.machines - t.machines FROM (SELECT of, COUNT(*) AS machines FROM gone WHERE kind = 1 AND of < 0 GROUP BY of) t WHERE app.num = -t.of; UPDATE build SET sure = build.sure - t.sure FROM (SELECT of, COUNT(*) AS sure FROM gone WHERE kind = 4 GROUP BY of) t WHERE build.num = t.of; RETURN NULL; END $$;
CREATE FUNCTION stallbox.snapshot_goes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'stallbox'
    AS $$ BEGIN DELETE FROM profile WHERE seq IN (SELECT seq FROM gone); DELETE FROM kin WHERE seq IN (SELECT seq FROM gone); DELETE FROM kin_holder WHERE seq IN (SELECT seq FROM gone); RETURN NULL; END $$;
CREATE FUNCTION stallbox.word_comes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'stallbox'
    AS $$ BEGIN UPDATE word SET used = used + 1 WHERE num = new.word; RETURN NULL; END $$;
CREATE FUNCTION stallbox.word_goes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'stallbox'
    AS $$ BEGIN UPDATE word SET used = word.used - t.used FROM (SELECT word, COUNT(*) AS used FROM gone GROUP BY word) t WHERE word.num = t.word; RETURN NULL; END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE stallbox.active (
    tenant bigint NOT NULL,
    version text NOT NULL COLLATE pg_catalog."C",
    day bigint NOT NULL,
    machines bigint NOT NULL
);
CREATE TABLE stallbox.alias (
    id bytea NOT NULL,
    issue bigint NOT NULL
);
CREATE TABLE stallbox.app (
    num bigint NOT NULL,
    tenant bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    machines bigint DEFAULT 0 NOT NULL
);
ALTER TABLE stallbox.app ALTER COLUMN num ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME stallbox.app_num_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stallbox.arrival (
    num bigint NOT NULL,
    who bigint NOT NULL,
    build_id bytea NOT NULL,
    made_s bigint NOT NULL
);
ALTER TABLE stallbox.arrival ALTER COLUMN num ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME stallbox.arrival_num_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stallbox.blob_debt (
    key text NOT NULL,
    at_ms bigint NOT NULL
);
CREATE TABLE stallbox.build (
    num bigint NOT NULL,
    tenant bigint DEFAULT 0 NOT NULL,
    version text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    build_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    rank bigint DEFAULT 0 NOT NULL,
    sure bigint DEFAULT 0 NOT NULL
);
ALTER TABLE stallbox.build ALTER COLUMN num ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME stallbox.build_num_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stallbox.erased (
    id bytea NOT NULL,
    at_ms bigint NOT NULL
);
CREATE TABLE stallbox.event (
    num bigint NOT NULL,
    at_ms bigint NOT NULL,
    kind bigint NOT NULL,
    app text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    version text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    base text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    issue bytea NOT NULL,
    text text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    chance double precision NOT NULL,
    state bigint NOT NULL,
    tries bigint DEFAULT 0 NOT NULL,
    next_ms bigint DEFAULT 0 NOT NULL
);
ALTER TABLE stallbox.event ALTER COLUMN num ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME stallbox.event_num_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stallbox.fact (
    place bigint NOT NULL,
    day bigint NOT NULL,
    build bigint NOT NULL,
    hits bigint DEFAULT 0 NOT NULL,
    weight bigint DEFAULT 0 NOT NULL,
    variance bigint DEFAULT 0 NOT NULL,
    machines bigint DEFAULT 0 NOT NULL,
    machine_days bigint DEFAULT 0 NOT NULL
);
CREATE TABLE stallbox.gap (
    module bigint NOT NULL,
    seq bigint NOT NULL,
    unnamed bigint NOT NULL
);
CREATE TABLE stallbox.issue (
    num bigint NOT NULL,
    id bytea NOT NULL,
    state bigint DEFAULT 0 NOT NULL,
    until text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    until_rank bigint DEFAULT 0 NOT NULL,
    owner text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    note text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    changed_ms bigint DEFAULT 0 NOT NULL,
    is_touched bigint DEFAULT 0 NOT NULL
);
ALTER TABLE stallbox.issue ALTER COLUMN num ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME stallbox.issue_num_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stallbox.kin (
    seq bigint NOT NULL,
    family bytea NOT NULL,
    moment bigint NOT NULL
);
CREATE TABLE stallbox.kin_holder (
    seq bigint NOT NULL,
    session bytea NOT NULL
);
CREATE TABLE stallbox.label (
    place bigint NOT NULL,
    kind bigint NOT NULL,
    word bigint NOT NULL,
    day bigint NOT NULL,
    build bigint NOT NULL,
    hits bigint DEFAULT 0 NOT NULL,
    weight bigint DEFAULT 0 NOT NULL,
    us bigint DEFAULT 0 NOT NULL
);
CREATE TABLE stallbox.look (
    app text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    version text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL
);
CREATE TABLE stallbox.met (
    kind bigint NOT NULL,
    of bigint NOT NULL,
    who bigint NOT NULL,
    count bigint NOT NULL
);
CREATE TABLE stallbox.met_day (
    place bigint NOT NULL,
    day bigint NOT NULL,
    build bigint NOT NULL,
    who bigint NOT NULL,
    count bigint NOT NULL
);
CREATE TABLE stallbox.module (
    id bigint NOT NULL,
    build_id bytea NOT NULL,
    name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    is_runtime bigint DEFAULT 0 NOT NULL,
    made_s bigint DEFAULT 0 NOT NULL,
    next_seq bigint DEFAULT 0 NOT NULL,
    stalls bigint DEFAULT 0 NOT NULL,
    frames bigint DEFAULT 0 NOT NULL
);
ALTER TABLE stallbox.module ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME stallbox.module_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stallbox.payload (
    seq bigint NOT NULL,
    envelope bytea NOT NULL
);
CREATE TABLE stallbox.place (
    num bigint NOT NULL,
    id bytea NOT NULL,
    issue bigint NOT NULL,
    path text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    rules bigint DEFAULT 0 NOT NULL,
    hits bigint DEFAULT 0 NOT NULL,
    weight bigint DEFAULT 0 NOT NULL,
    variance bigint DEFAULT 0 NOT NULL,
    sessions bigint DEFAULT 0 NOT NULL,
    machines bigint DEFAULT 0 NOT NULL,
    builds bigint DEFAULT 0 NOT NULL,
    sure bigint DEFAULT 0 NOT NULL,
    first_ms bigint DEFAULT 0 NOT NULL,
    last_ms bigint DEFAULT 0 NOT NULL,
    longest_ns bigint DEFAULT 0 NOT NULL,
    newest bigint DEFAULT 0 NOT NULL,
    tenant bigint
);
ALTER TABLE stallbox.place ALTER COLUMN num ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME stallbox.place_num_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stallbox.policy (
    app bytea NOT NULL,
    document bytea NOT NULL
);
CREATE TABLE stallbox.profile (
    seq bigint NOT NULL,
    text text NOT NULL
);
CREATE TABLE stallbox.rotating (
    seq bigint NOT NULL,
    id bytea NOT NULL
);
CREATE TABLE stallbox.said (
    seq bigint NOT NULL,
    kind bigint NOT NULL,
    word bigint NOT NULL,
    us bigint NOT NULL
);
CREATE TABLE stallbox.sealed (
    seq bigint NOT NULL,
    id bytea NOT NULL,
    key_id bytea NOT NULL,
    digest bytea NOT NULL,
    received_ms bigint NOT NULL,
    envelope bytea,
    failed_by text,
    failure text,
    tenant bigint DEFAULT 0 NOT NULL
);
ALTER TABLE stallbox.sealed ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME stallbox.sealed_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stallbox.snapshot (
    seq bigint NOT NULL,
    id bytea NOT NULL,
    received_ms bigint NOT NULL,
    created_day bigint NOT NULL,
    bytes bigint NOT NULL,
    session bytea NOT NULL,
    app_build_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    app_version text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    trigger text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    duration_ns bigint NOT NULL,
    threshold_ms bigint NOT NULL,
    weight bigint DEFAULT 1 NOT NULL,
    one_in bigint DEFAULT 1 NOT NULL,
    state bigint DEFAULT 0 NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    triaged_by text,
    failure text,
    app text COLLATE pg_catalog."C",
    cause text COLLATE pg_catalog."C",
    class text COLLATE pg_catalog."C",
    function text COLLATE pg_catalog."C",
    module text COLLATE pg_catalog."C",
    headline text COLLATE pg_catalog."C",
    confidence double precision,
    place bigint,
    day bigint DEFAULT 0 NOT NULL,
    build bigint DEFAULT 0 NOT NULL,
    bucket bigint,
    tenant bigint,
    blob text,
    digest bytea,
    lease_ms bigint DEFAULT (((EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric))::bigint + 30000) NOT NULL,
    whole bigint,
    process bigint DEFAULT 0 NOT NULL,
    machine bigint DEFAULT 0 NOT NULL
);
ALTER TABLE stallbox.snapshot ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME stallbox.snapshot_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE stallbox.spread (
    place bigint NOT NULL,
    day bigint NOT NULL,
    build bigint NOT NULL,
    bucket bigint NOT NULL,
    weight bigint DEFAULT 0 NOT NULL
);
CREATE TABLE stallbox.stall_end (
    first bytea NOT NULL,
    id bytea NOT NULL,
    session bytea NOT NULL,
    how bigint NOT NULL,
    signal bigint NOT NULL,
    duration_ns bigint NOT NULL,
    received_ms bigint NOT NULL,
    rotating bytea
);
CREATE VIEW stallbox.summed AS
 SELECT snapshot.seq,
    snapshot.place,
    snapshot.day,
    snapshot.build,
    snapshot.machine,
    snapshot.bucket,
    snapshot.weight,
    snapshot.one_in
   FROM stallbox.snapshot
  WHERE (snapshot.place IS NOT NULL)
UNION ALL
 SELECT snapshot.seq,
    snapshot.place,
    '-1'::integer AS day,
    snapshot.build,
    snapshot.machine,
    snapshot.bucket,
    snapshot.weight,
    snapshot.one_in
   FROM stallbox.snapshot
  WHERE (snapshot.place IS NOT NULL)
UNION ALL
 SELECT snapshot.seq,
    snapshot.whole AS place,
    snapshot.day,
    snapshot.build,
    snapshot.machine,
    snapshot.bucket,
    snapshot.weight,
    snapshot.one_in
   FROM stallbox.snapshot
  WHERE (snapshot.place IS NOT NULL)
UNION ALL
 SELECT snapshot.seq,
    snapshot.whole AS place,
    '-1'::integer AS day,
    snapshot.build,
    snapshot.machine,
    snapshot.bucket,
    snapshot.weight,
    snapshot.one_in
   FROM stallbox.snapshot
  WHERE (snapshot.place IS NOT NULL);
CREATE TABLE stallbox.symbol_sender (
    build_id bytea NOT NULL,
    tenant bigint NOT NULL
);
CREATE TABLE stallbox.version (
    number bigint NOT NULL
);
CREATE TABLE stallbox.was_in (
    issue bytea NOT NULL,
    seq bigint NOT NULL,
    at_ms bigint NOT NULL
);
CREATE TABLE stallbox.word (
    num bigint NOT NULL,
    text text NOT NULL COLLATE pg_catalog."C",
    used bigint DEFAULT 0 NOT NULL
);
ALTER TABLE stallbox.word ALTER COLUMN num ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME stallbox.word_num_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO stallbox.app VALUES (6, 7, 'cpu', 3);
INSERT INTO stallbox.app VALUES (2, 7, 'io', 4);
INSERT INTO stallbox.app VALUES (5, 8, 'io', 5);
INSERT INTO stallbox.app VALUES (1, 8, 'cpu', 2);
INSERT INTO stallbox.build VALUES (3, 8, '1.0.0', '0101000000000000', 1000000000000, 0);
INSERT INTO stallbox.build VALUES (6, 7, '1.1.0', '0100000000000000', 1000001000000, 0);
INSERT INTO stallbox.build VALUES (12, 7, '1.2.0', '0100000000000000', 1000002000000, 0);
INSERT INTO stallbox.build VALUES (18, 7, '1.0.0', '0100000000000000', 1000000000000, 0);
INSERT INTO stallbox.build VALUES (20, 7, '1.2.0', '0101000000000000', 1000002000000, 0);
INSERT INTO stallbox.build VALUES (21, 8, '1.0.0', '0102000000000000', 1000000000000, 0);
INSERT INTO stallbox.build VALUES (1, 8, '1.1.0', '0101000000000000', 1000001000000, 1);
INSERT INTO stallbox.build VALUES (5, 8, '1.2.0', '0101000000000000', 1000002000000, 1);
INSERT INTO stallbox.build VALUES (8, 7, '1.2.0', '0102000000000000', 1000002000000, 1);
INSERT INTO stallbox.build VALUES (10, 7, '1.1.0', '0102000000000000', 1000001000000, 1);
INSERT INTO stallbox.build VALUES (11, 8, '1.1.0', '0100000000000000', 1000001000000, 1);
INSERT INTO stallbox.build VALUES (13, 8, '1.2.0', '0100000000000000', 1000002000000, 1);
INSERT INTO stallbox.build VALUES (7, 8, '1.0.0', '0100000000000000', 1000000000000, 2);
INSERT INTO stallbox.build VALUES (2, 7, '1.0.0', '0102000000000000', 1000000000000, 2);
INSERT INTO stallbox.fact VALUES (4, -1, 12, 1, 47, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (-2, 20001, 2, 2, 75, 4, 1, 1);
INSERT INTO stallbox.fact VALUES (1, 20001, 1, 1, 19, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (1, -1, 1, 1, 19, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (7, 20001, 18, 1, 17, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (7, -1, 18, 1, 17, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (-1, 20001, 1, 1, 19, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (-1, -1, 1, 1, 19, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (2, 20001, 2, 1, 42, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (2, -1, 2, 1, 42, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (-5, 20002, 11, 1, 22, 12, 1, 1);
INSERT INTO stallbox.fact VALUES (-5, -1, 11, 1, 22, 12, 1, 1);
INSERT INTO stallbox.fact VALUES (2, 20000, 8, 1, 40, 20, 1, 1);
INSERT INTO stallbox.fact VALUES (2, -1, 8, 1, 40, 20, 1, 1);
INSERT INTO stallbox.fact VALUES (-2, 20000, 8, 1, 40, 20, 1, 1);
INSERT INTO stallbox.fact VALUES (-2, -1, 8, 1, 40, 20, 1, 1);
INSERT INTO stallbox.fact VALUES (4, 20002, 2, 1, 20, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (4, -1, 2, 1, 20, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (-2, 20002, 2, 1, 20, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (-6, 20001, 12, 1, 23, 42, 1, 1);
INSERT INTO stallbox.fact VALUES (-6, -1, 12, 1, 23, 42, 1, 1);
INSERT INTO stallbox.fact VALUES (7, 20000, 12, 1, 9, 6, 1, 1);
INSERT INTO stallbox.fact VALUES (-2, -1, 2, 3, 95, 34, 2, 2);
INSERT INTO stallbox.fact VALUES (-2, 20000, 12, 1, 9, 6, 1, 1);
INSERT INTO stallbox.fact VALUES (-5, 20000, 7, 1, 34, 56, 1, 1);
INSERT INTO stallbox.fact VALUES (5, 20001, 5, 2, 51, 50, 2, 2);
INSERT INTO stallbox.fact VALUES (5, -1, 5, 2, 51, 50, 2, 2);
INSERT INTO stallbox.fact VALUES (4, 20001, 6, 1, 9, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (4, -1, 6, 1, 9, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (-6, 20001, 6, 1, 9, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (-6, -1, 6, 1, 9, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (3, 20000, 7, 1, 22, 42, 1, 1);
INSERT INTO stallbox.fact VALUES (3, -1, 7, 1, 22, 42, 1, 1);
INSERT INTO stallbox.fact VALUES (-5, 20001, 5, 2, 51, 50, 2, 2);
INSERT INTO stallbox.fact VALUES (-5, -1, 5, 2, 51, 50, 2, 2);
INSERT INTO stallbox.fact VALUES (-2, 20002, 12, 1, 47, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (2, 20002, 10, 1, 37, 0, 1, 1);
INSERT INTO stallbox.fact VALUES (2, -1, 10, 1, 37, 0, 1, 1);
INSERT INTO stallbox.fact VALUES (3, 20001, 13, 1, 47, 20, 1, 1);
INSERT INTO stallbox.fact VALUES (3, -1, 13, 1, 47, 20, 1, 1);
INSERT INTO stallbox.fact VALUES (-6, 20002, 10, 1, 37, 0, 1, 1);
INSERT INTO stallbox.fact VALUES (-6, -1, 10, 1, 37, 0, 1, 1);
INSERT INTO stallbox.fact VALUES (-2, -1, 12, 2, 56, 8, 2, 2);
INSERT INTO stallbox.fact VALUES (6, 20002, 11, 1, 22, 12, 1, 1);
INSERT INTO stallbox.fact VALUES (6, -1, 11, 1, 22, 12, 1, 1);
INSERT INTO stallbox.fact VALUES (8, 20002, 13, 1, 45, 12, 1, 1);
INSERT INTO stallbox.fact VALUES (8, -1, 13, 1, 45, 12, 1, 1);
INSERT INTO stallbox.fact VALUES (-5, 20001, 13, 1, 47, 20, 1, 1);
INSERT INTO stallbox.fact VALUES (-1, 20000, 7, 2, 58, 42, 1, 1);
INSERT INTO stallbox.fact VALUES (-1, -1, 7, 2, 58, 42, 1, 1);
INSERT INTO stallbox.fact VALUES (-2, 20001, 18, 1, 17, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (7, 20001, 12, 1, 23, 42, 1, 1);
INSERT INTO stallbox.fact VALUES (7, -1, 12, 2, 32, 48, 2, 2);
INSERT INTO stallbox.fact VALUES (-2, -1, 18, 1, 17, 30, 1, 1);
INSERT INTO stallbox.fact VALUES (8, 20000, 7, 1, 36, 0, 1, 1);
INSERT INTO stallbox.fact VALUES (-5, 20002, 13, 1, 45, 12, 1, 1);
INSERT INTO stallbox.fact VALUES (-5, -1, 13, 2, 92, 32, 2, 2);
INSERT INTO stallbox.fact VALUES (4, 20002, 12, 1, 47, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (8, -1, 7, 1, 36, 0, 1, 1);
INSERT INTO stallbox.fact VALUES (-5, -1, 7, 1, 34, 56, 1, 1);
INSERT INTO stallbox.fact VALUES (9, 20001, 20, 1, 14, 6, 1, 1);
INSERT INTO stallbox.fact VALUES (9, -1, 20, 1, 14, 6, 1, 1);
INSERT INTO stallbox.fact VALUES (6, 20000, 7, 1, 34, 56, 1, 1);
INSERT INTO stallbox.fact VALUES (6, -1, 7, 1, 34, 56, 1, 1);
INSERT INTO stallbox.fact VALUES (6, 20002, 21, 1, 37, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (6, -1, 21, 1, 37, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (-6, 20001, 20, 1, 14, 6, 1, 1);
INSERT INTO stallbox.fact VALUES (-6, -1, 20, 1, 14, 6, 1, 1);
INSERT INTO stallbox.fact VALUES (-1, 20002, 21, 1, 37, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (-1, -1, 21, 1, 37, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (7, 20001, 2, 1, 33, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (7, -1, 2, 1, 33, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (3, 20002, 3, 1, 2, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (3, -1, 3, 1, 2, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (-5, 20002, 3, 1, 2, 2, 1, 1);
INSERT INTO stallbox.fact VALUES (-5, -1, 3, 1, 2, 2, 1, 1);
INSERT INTO stallbox.gap VALUES (1, 1, 1);
INSERT INTO stallbox.gap VALUES (2, 2, 0);
INSERT INTO stallbox.gap VALUES (1, 4, 2);
INSERT INTO stallbox.gap VALUES (1, 5, 0);
INSERT INTO stallbox.gap VALUES (2, 6, 0);
INSERT INTO stallbox.gap VALUES (7, 7, 3);
INSERT INTO stallbox.gap VALUES (2, 8, 0);
INSERT INTO stallbox.gap VALUES (1, 9, 2);
INSERT INTO stallbox.gap VALUES (2, 10, 3);
INSERT INTO stallbox.gap VALUES (2, 11, 2);
INSERT INTO stallbox.gap VALUES (2, 12, 0);
INSERT INTO stallbox.gap VALUES (1, 13, 0);
INSERT INTO stallbox.gap VALUES (1, 14, 1);
INSERT INTO stallbox.gap VALUES (1, 15, 3);
INSERT INTO stallbox.gap VALUES (1, 16, 1);
INSERT INTO stallbox.gap VALUES (7, 17, 2);
INSERT INTO stallbox.gap VALUES (7, 18, 0);
INSERT INTO stallbox.gap VALUES (2, 19, 1);
INSERT INTO stallbox.gap VALUES (1, 20, 3);
INSERT INTO stallbox.gap VALUES (1, 21, 1);
INSERT INTO stallbox.gap VALUES (2, 22, 2);
INSERT INTO stallbox.gap VALUES (1, 3, 2);
INSERT INTO stallbox.issue VALUES (1, '\x01010000000000000000000000000000', 0, '', 0, '', '', 0, 0);
INSERT INTO stallbox.issue VALUES (3, '\x02010000000000000000000000000000', 0, '', 0, '', '', 0, 0);
INSERT INTO stallbox.issue VALUES (4, '\x04000000000000000000000000000000', 0, '', 0, '', '', 0, 0);
INSERT INTO stallbox.issue VALUES (5, '\x03010000000000000000000000000000', 0, '', 0, '', '', 0, 0);
INSERT INTO stallbox.issue VALUES (6, '\x04010000000000000000000000000000', 0, '', 0, '', '', 0, 0);
INSERT INTO stallbox.issue VALUES (7, '\x01000000000000000000000000000000', 0, '', 0, '', '', 0, 0);
INSERT INTO stallbox.issue VALUES (8, '\x05010000000000000000000000000000', 0, '', 0, '', '', 0, 0);
INSERT INTO stallbox.issue VALUES (9, '\x02000000000000000000000000000000', 0, '', 0, '', '', 0, 0);
INSERT INTO stallbox.issue VALUES (2, '\x03000000000000000000000000000000', 0, '', 0, 'anna', 'seen', 5, 1);
INSERT INTO stallbox.label VALUES (1, 0, 1, 20001, 1, 1, 19, 12471923);
INSERT INTO stallbox.label VALUES (1, 0, 1, -1, 1, 1, 19, 12471923);
INSERT INTO stallbox.label VALUES (-1, 0, 1, 20001, 1, 1, 19, 12471923);
INSERT INTO stallbox.label VALUES (-1, 0, 1, -1, 1, 1, 19, 12471923);
INSERT INTO stallbox.label VALUES (1, 2, 2, 20001, 1, 1, 19, 95);
INSERT INTO stallbox.label VALUES (1, 2, 2, -1, 1, 1, 19, 95);
INSERT INTO stallbox.label VALUES (-1, 2, 2, 20001, 1, 1, 19, 95);
INSERT INTO stallbox.label VALUES (-1, 2, 2, -1, 1, 1, 19, 95);
INSERT INTO stallbox.label VALUES (2, 0, 3, 20001, 2, 1, 42, 11167548);
INSERT INTO stallbox.label VALUES (2, 0, 3, -1, 2, 1, 42, 11167548);
INSERT INTO stallbox.label VALUES (-2, 0, 3, 20001, 2, 1, 42, 11167548);
INSERT INTO stallbox.label VALUES (-2, 0, 3, -1, 2, 1, 42, 11167548);
INSERT INTO stallbox.label VALUES (2, 2, 4, 20001, 2, 1, 42, 210);
INSERT INTO stallbox.label VALUES (2, 2, 4, -1, 2, 1, 42, 210);
INSERT INTO stallbox.label VALUES (-2, 2, 4, 20001, 2, 1, 42, 210);
INSERT INTO stallbox.label VALUES (-2, 2, 4, -1, 2, 1, 42, 210);
INSERT INTO stallbox.label VALUES (4, 0, 1, 20002, 2, 1, 20, 7947320);
INSERT INTO stallbox.label VALUES (4, 0, 1, -1, 2, 1, 20, 7947320);
INSERT INTO stallbox.label VALUES (-2, 0, 1, 20002, 2, 1, 20, 7947320);
INSERT INTO stallbox.label VALUES (4, 2, 3, 20002, 2, 1, 20, 100);
INSERT INTO stallbox.label VALUES (4, 2, 3, -1, 2, 1, 20, 100);
INSERT INTO stallbox.label VALUES (-2, 2, 3, 20002, 2, 1, 20, 100);
INSERT INTO stallbox.label VALUES (-2, 2, 3, -1, 2, 1, 20, 100);
INSERT INTO stallbox.label VALUES (5, 0, 4, 20001, 5, 1, 40, 29240600);
INSERT INTO stallbox.label VALUES (5, 0, 4, -1, 5, 1, 40, 29240600);
INSERT INTO stallbox.label VALUES (-5, 0, 4, 20001, 5, 1, 40, 29240600);
INSERT INTO stallbox.label VALUES (-5, 0, 4, -1, 5, 1, 40, 29240600);
INSERT INTO stallbox.label VALUES (5, 2, 1, 20001, 5, 1, 40, 200);
INSERT INTO stallbox.label VALUES (5, 2, 1, -1, 5, 1, 40, 200);
INSERT INTO stallbox.label VALUES (-5, 2, 1, 20001, 5, 1, 40, 200);
INSERT INTO stallbox.label VALUES (-5, 2, 1, -1, 5, 1, 40, 200);
INSERT INTO stallbox.label VALUES (5, 3, 2, 20001, 5, 1, 40, 280);
INSERT INTO stallbox.label VALUES (5, 3, 2, -1, 5, 1, 40, 280);
INSERT INTO stallbox.label VALUES (-5, 3, 2, 20001, 5, 1, 40, 280);
INSERT INTO stallbox.label VALUES (-5, 3, 2, -1, 5, 1, 40, 280);
INSERT INTO stallbox.label VALUES (4, 0, 3, 20001, 6, 1, 9, 7613190);
INSERT INTO stallbox.label VALUES (4, 0, 3, -1, 6, 1, 9, 7613190);
INSERT INTO stallbox.label VALUES (-6, 0, 3, 20001, 6, 1, 9, 7613190);
INSERT INTO stallbox.label VALUES (-6, 0, 3, -1, 6, 1, 9, 7613190);
INSERT INTO stallbox.label VALUES (4, 2, 3, 20001, 6, 1, 9, 45);
INSERT INTO stallbox.label VALUES (4, 2, 3, -1, 6, 1, 9, 45);
INSERT INTO stallbox.label VALUES (-6, 2, 3, 20001, 6, 1, 9, 45);
INSERT INTO stallbox.label VALUES (-6, 2, 3, -1, 6, 1, 9, 45);
INSERT INTO stallbox.label VALUES (3, 0, 4, 20000, 7, 1, 22, 5283300);
INSERT INTO stallbox.label VALUES (3, 0, 4, -1, 7, 1, 22, 5283300);
INSERT INTO stallbox.label VALUES (3, 2, 2, 20000, 7, 1, 22, 110);
INSERT INTO stallbox.label VALUES (3, 2, 2, -1, 7, 1, 22, 110);
INSERT INTO stallbox.label VALUES (3, 3, 1, 20000, 7, 1, 22, 154);
INSERT INTO stallbox.label VALUES (3, 3, 1, -1, 7, 1, 22, 154);
INSERT INTO stallbox.label VALUES (-1, 3, 1, 20000, 7, 1, 22, 154);
INSERT INTO stallbox.label VALUES (-1, 3, 1, -1, 7, 1, 22, 154);
INSERT INTO stallbox.label VALUES (2, 0, 3, 20000, 8, 1, 40, 32286920);
INSERT INTO stallbox.label VALUES (2, 0, 3, -1, 8, 1, 40, 32286920);
INSERT INTO stallbox.label VALUES (-2, 0, 3, 20000, 8, 1, 40, 32286920);
INSERT INTO stallbox.label VALUES (-2, 0, 3, -1, 8, 1, 40, 32286920);
INSERT INTO stallbox.label VALUES (2, 2, 4, 20000, 8, 1, 40, 200);
INSERT INTO stallbox.label VALUES (2, 2, 4, -1, 8, 1, 40, 200);
INSERT INTO stallbox.label VALUES (-2, 2, 4, 20000, 8, 1, 40, 200);
INSERT INTO stallbox.label VALUES (-2, 2, 4, -1, 8, 1, 40, 200);
INSERT INTO stallbox.label VALUES (5, 0, 1, 20001, 5, 1, 11, 5143996);
INSERT INTO stallbox.label VALUES (5, 0, 1, -1, 5, 1, 11, 5143996);
INSERT INTO stallbox.label VALUES (-5, 0, 1, 20001, 5, 1, 11, 5143996);
INSERT INTO stallbox.label VALUES (-5, 0, 1, -1, 5, 1, 11, 5143996);
INSERT INTO stallbox.label VALUES (5, 2, 3, 20001, 5, 1, 11, 55);
INSERT INTO stallbox.label VALUES (5, 2, 3, -1, 5, 1, 11, 55);
INSERT INTO stallbox.label VALUES (-5, 2, 3, 20001, 5, 1, 11, 55);
INSERT INTO stallbox.label VALUES (-5, 2, 3, -1, 5, 1, 11, 55);
INSERT INTO stallbox.label VALUES (2, 0, 2, 20002, 10, 1, 37, 10746909);
INSERT INTO stallbox.label VALUES (2, 0, 2, -1, 10, 1, 37, 10746909);
INSERT INTO stallbox.label VALUES (-6, 0, 2, 20002, 10, 1, 37, 10746909);
INSERT INTO stallbox.label VALUES (-6, 0, 2, -1, 10, 1, 37, 10746909);
INSERT INTO stallbox.label VALUES (-2, 0, 1, -1, 2, 2, 53, 9941807);
INSERT INTO stallbox.label VALUES (2, 2, 3, 20002, 10, 1, 37, 185);
INSERT INTO stallbox.label VALUES (2, 2, 3, -1, 10, 1, 37, 185);
INSERT INTO stallbox.label VALUES (-6, 2, 3, 20002, 10, 1, 37, 185);
INSERT INTO stallbox.label VALUES (-6, 2, 3, -1, 10, 1, 37, 185);
INSERT INTO stallbox.label VALUES (2, 3, 2, 20002, 10, 1, 37, 259);
INSERT INTO stallbox.label VALUES (2, 3, 2, -1, 10, 1, 37, 259);
INSERT INTO stallbox.label VALUES (-6, 3, 2, 20002, 10, 1, 37, 259);
INSERT INTO stallbox.label VALUES (-6, 3, 2, -1, 10, 1, 37, 259);
INSERT INTO stallbox.label VALUES (6, 0, 3, 20002, 11, 1, 22, 17483774);
INSERT INTO stallbox.label VALUES (6, 0, 3, -1, 11, 1, 22, 17483774);
INSERT INTO stallbox.label VALUES (-5, 0, 3, 20002, 11, 1, 22, 17483774);
INSERT INTO stallbox.label VALUES (-5, 0, 3, -1, 11, 1, 22, 17483774);
INSERT INTO stallbox.label VALUES (6, 2, 4, 20002, 11, 1, 22, 110);
INSERT INTO stallbox.label VALUES (6, 2, 4, -1, 11, 1, 22, 110);
INSERT INTO stallbox.label VALUES (-5, 2, 4, 20002, 11, 1, 22, 110);
INSERT INTO stallbox.label VALUES (-5, 2, 4, -1, 11, 1, 22, 110);
INSERT INTO stallbox.label VALUES (7, 0, 3, 20000, 12, 1, 9, 1480059);
INSERT INTO stallbox.label VALUES (7, 0, 3, -1, 12, 1, 9, 1480059);
INSERT INTO stallbox.label VALUES (-2, 0, 3, 20000, 12, 1, 9, 1480059);
INSERT INTO stallbox.label VALUES (7, 2, 2, 20000, 12, 1, 9, 45);
INSERT INTO stallbox.label VALUES (7, 2, 2, -1, 12, 1, 9, 45);
INSERT INTO stallbox.label VALUES (-2, 2, 2, 20000, 12, 1, 9, 45);
INSERT INTO stallbox.label VALUES (-2, 2, 2, -1, 12, 1, 9, 45);
INSERT INTO stallbox.label VALUES (3, 0, 4, 20001, 13, 1, 47, 1952803);
INSERT INTO stallbox.label VALUES (3, 0, 4, -1, 13, 1, 47, 1952803);
INSERT INTO stallbox.label VALUES (-5, 0, 4, 20001, 13, 1, 47, 1952803);
INSERT INTO stallbox.label VALUES (-5, 0, 4, -1, 13, 1, 47, 1952803);
INSERT INTO stallbox.label VALUES (3, 2, 4, 20001, 13, 1, 47, 235);
INSERT INTO stallbox.label VALUES (3, 2, 4, -1, 13, 1, 47, 235);
INSERT INTO stallbox.label VALUES (-5, 2, 4, 20001, 13, 1, 47, 235);
INSERT INTO stallbox.label VALUES (-5, 2, 4, -1, 13, 1, 47, 235);
INSERT INTO stallbox.label VALUES (7, 0, 1, 20001, 12, 1, 23, 22038186);
INSERT INTO stallbox.label VALUES (7, 0, 1, -1, 12, 1, 23, 22038186);
INSERT INTO stallbox.label VALUES (-6, 0, 1, 20001, 12, 1, 23, 22038186);
INSERT INTO stallbox.label VALUES (-6, 0, 1, -1, 12, 1, 23, 22038186);
INSERT INTO stallbox.label VALUES (7, 2, 1, 20001, 12, 1, 23, 115);
INSERT INTO stallbox.label VALUES (7, 2, 1, -1, 12, 1, 23, 115);
INSERT INTO stallbox.label VALUES (-6, 2, 1, 20001, 12, 1, 23, 115);
INSERT INTO stallbox.label VALUES (-6, 2, 1, -1, 12, 1, 23, 115);
INSERT INTO stallbox.label VALUES (8, 0, 1, 20002, 13, 1, 45, 22788270);
INSERT INTO stallbox.label VALUES (8, 0, 1, -1, 13, 1, 45, 22788270);
INSERT INTO stallbox.label VALUES (-5, 0, 1, 20002, 13, 1, 45, 22788270);
INSERT INTO stallbox.label VALUES (-5, 0, 1, -1, 13, 1, 45, 22788270);
INSERT INTO stallbox.label VALUES (8, 2, 3, 20002, 13, 1, 45, 225);
INSERT INTO stallbox.label VALUES (8, 2, 3, -1, 13, 1, 45, 225);
INSERT INTO stallbox.label VALUES (-5, 2, 3, 20002, 13, 1, 45, 225);
INSERT INTO stallbox.label VALUES (-5, 2, 3, -1, 13, 1, 45, 225);
INSERT INTO stallbox.label VALUES (8, 3, 3, 20002, 13, 1, 45, 315);
INSERT INTO stallbox.label VALUES (8, 3, 3, -1, 13, 1, 45, 315);
INSERT INTO stallbox.label VALUES (-5, 3, 3, 20002, 13, 1, 45, 315);
INSERT INTO stallbox.label VALUES (-5, 3, 3, -1, 13, 1, 45, 315);
INSERT INTO stallbox.label VALUES (4, 0, 3, 20002, 12, 1, 47, 13541358);
INSERT INTO stallbox.label VALUES (4, 0, 3, -1, 12, 1, 47, 13541358);
INSERT INTO stallbox.label VALUES (-2, 0, 3, 20002, 12, 1, 47, 13541358);
INSERT INTO stallbox.label VALUES (-2, 0, 3, -1, 12, 2, 56, 15021417);
INSERT INTO stallbox.label VALUES (4, 2, 3, 20002, 12, 1, 47, 235);
INSERT INTO stallbox.label VALUES (4, 2, 3, -1, 12, 1, 47, 235);
INSERT INTO stallbox.label VALUES (-2, 2, 3, 20002, 12, 1, 47, 235);
INSERT INTO stallbox.label VALUES (-2, 2, 3, -1, 12, 1, 47, 235);
INSERT INTO stallbox.label VALUES (4, 3, 1, 20002, 12, 1, 47, 329);
INSERT INTO stallbox.label VALUES (4, 3, 1, -1, 12, 1, 47, 329);
INSERT INTO stallbox.label VALUES (-2, 3, 1, 20002, 12, 1, 47, 329);
INSERT INTO stallbox.label VALUES (-2, 3, 1, -1, 12, 1, 47, 329);
INSERT INTO stallbox.label VALUES (8, 0, 4, 20000, 7, 1, 36, 15237576);
INSERT INTO stallbox.label VALUES (8, 0, 4, -1, 7, 1, 36, 15237576);
INSERT INTO stallbox.label VALUES (-1, 0, 4, 20000, 7, 2, 58, 20520876);
INSERT INTO stallbox.label VALUES (-1, 0, 4, -1, 7, 2, 58, 20520876);
INSERT INTO stallbox.label VALUES (8, 2, 2, 20000, 7, 1, 36, 180);
INSERT INTO stallbox.label VALUES (8, 2, 2, -1, 7, 1, 36, 180);
INSERT INTO stallbox.label VALUES (-1, 2, 2, 20000, 7, 2, 58, 290);
INSERT INTO stallbox.label VALUES (-1, 2, 2, -1, 7, 2, 58, 290);
INSERT INTO stallbox.label VALUES (7, 0, 4, 20001, 18, 1, 17, 382551);
INSERT INTO stallbox.label VALUES (7, 0, 4, -1, 18, 1, 17, 382551);
INSERT INTO stallbox.label VALUES (-2, 0, 4, 20001, 18, 1, 17, 382551);
INSERT INTO stallbox.label VALUES (-2, 0, 4, -1, 18, 1, 17, 382551);
INSERT INTO stallbox.label VALUES (7, 2, 3, 20001, 18, 1, 17, 85);
INSERT INTO stallbox.label VALUES (7, 2, 3, -1, 18, 1, 17, 85);
INSERT INTO stallbox.label VALUES (-2, 2, 3, 20001, 18, 1, 17, 85);
INSERT INTO stallbox.label VALUES (-2, 2, 3, -1, 18, 1, 17, 85);
INSERT INTO stallbox.label VALUES (6, 0, 1, 20000, 7, 1, 34, 2178074);
INSERT INTO stallbox.label VALUES (6, 0, 1, -1, 7, 1, 34, 2178074);
INSERT INTO stallbox.label VALUES (-5, 0, 1, 20000, 7, 1, 34, 2178074);
INSERT INTO stallbox.label VALUES (-5, 0, 1, -1, 7, 1, 34, 2178074);
INSERT INTO stallbox.label VALUES (6, 2, 4, 20000, 7, 1, 34, 170);
INSERT INTO stallbox.label VALUES (6, 2, 4, -1, 7, 1, 34, 170);
INSERT INTO stallbox.label VALUES (-5, 2, 4, 20000, 7, 1, 34, 170);
INSERT INTO stallbox.label VALUES (-5, 2, 4, -1, 7, 1, 34, 170);
INSERT INTO stallbox.label VALUES (6, 3, 1, 20000, 7, 1, 34, 238);
INSERT INTO stallbox.label VALUES (6, 3, 1, -1, 7, 1, 34, 238);
INSERT INTO stallbox.label VALUES (-5, 3, 1, 20000, 7, 1, 34, 238);
INSERT INTO stallbox.label VALUES (-5, 3, 1, -1, 7, 1, 34, 238);
INSERT INTO stallbox.label VALUES (9, 0, 1, 20001, 20, 1, 14, 1744722);
INSERT INTO stallbox.label VALUES (9, 0, 1, -1, 20, 1, 14, 1744722);
INSERT INTO stallbox.label VALUES (-6, 0, 1, 20001, 20, 1, 14, 1744722);
INSERT INTO stallbox.label VALUES (-6, 0, 1, -1, 20, 1, 14, 1744722);
INSERT INTO stallbox.label VALUES (9, 2, 3, 20001, 20, 1, 14, 70);
INSERT INTO stallbox.label VALUES (9, 2, 3, -1, 20, 1, 14, 70);
INSERT INTO stallbox.label VALUES (-6, 2, 3, 20001, 20, 1, 14, 70);
INSERT INTO stallbox.label VALUES (-6, 2, 3, -1, 20, 1, 14, 70);
INSERT INTO stallbox.label VALUES (6, 0, 3, 20002, 21, 1, 37, 12370395);
INSERT INTO stallbox.label VALUES (6, 0, 3, -1, 21, 1, 37, 12370395);
INSERT INTO stallbox.label VALUES (-1, 0, 3, 20002, 21, 1, 37, 12370395);
INSERT INTO stallbox.label VALUES (-1, 0, 3, -1, 21, 1, 37, 12370395);
INSERT INTO stallbox.label VALUES (6, 2, 4, 20002, 21, 1, 37, 185);
INSERT INTO stallbox.label VALUES (6, 2, 4, -1, 21, 1, 37, 185);
INSERT INTO stallbox.label VALUES (-1, 2, 4, 20002, 21, 1, 37, 185);
INSERT INTO stallbox.label VALUES (-1, 2, 4, -1, 21, 1, 37, 185);
INSERT INTO stallbox.label VALUES (7, 0, 1, 20001, 2, 1, 33, 1994487);
INSERT INTO stallbox.label VALUES (7, 0, 1, -1, 2, 1, 33, 1994487);
INSERT INTO stallbox.label VALUES (-2, 0, 1, 20001, 2, 1, 33, 1994487);
INSERT INTO stallbox.label VALUES (7, 2, 1, 20001, 2, 1, 33, 165);
INSERT INTO stallbox.label VALUES (7, 2, 1, -1, 2, 1, 33, 165);
INSERT INTO stallbox.label VALUES (-2, 2, 1, 20001, 2, 1, 33, 165);
INSERT INTO stallbox.label VALUES (-2, 2, 1, -1, 2, 1, 33, 165);
INSERT INTO stallbox.label VALUES (3, 0, 3, 20002, 3, 1, 2, 673316);
INSERT INTO stallbox.label VALUES (3, 0, 3, -1, 3, 1, 2, 673316);
INSERT INTO stallbox.label VALUES (-5, 0, 3, 20002, 3, 1, 2, 673316);
INSERT INTO stallbox.label VALUES (-5, 0, 3, -1, 3, 1, 2, 673316);
INSERT INTO stallbox.label VALUES (3, 2, 3, 20002, 3, 1, 2, 10);
INSERT INTO stallbox.label VALUES (3, 2, 3, -1, 3, 1, 2, 10);
INSERT INTO stallbox.label VALUES (-5, 2, 3, 20002, 3, 1, 2, 10);
INSERT INTO stallbox.label VALUES (-5, 2, 3, -1, 3, 1, 2, 10);
INSERT INTO stallbox.label VALUES (3, 3, 2, 20002, 3, 1, 2, 14);
INSERT INTO stallbox.label VALUES (3, 3, 2, -1, 3, 1, 2, 14);
INSERT INTO stallbox.label VALUES (-5, 3, 2, 20002, 3, 1, 2, 14);
INSERT INTO stallbox.label VALUES (-5, 3, 2, -1, 3, 1, 2, 14);
INSERT INTO stallbox.met VALUES (0, 1, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (1, 1, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (1, -1, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (2, 1, 1, 1);
INSERT INTO stallbox.met VALUES (3, 1, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (4, 1, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (0, 2, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (1, 2, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (2, 2, 2, 1);
INSERT INTO stallbox.met VALUES (0, 4, 5419260170633675159, 1);
INSERT INTO stallbox.met VALUES (2, 4, 2, 1);
INSERT INTO stallbox.met VALUES (3, 4, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (4, 2, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (0, 5, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (1, 5, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (1, -5, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (3, 5, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (4, 5, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (0, 4, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (1, 4, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (1, -6, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (2, 4, 6, 1);
INSERT INTO stallbox.met VALUES (0, 3, 3408432111295479326, 1);
INSERT INTO stallbox.met VALUES (1, 3, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (2, 3, 7, 1);
INSERT INTO stallbox.met VALUES (3, 3, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (4, 7, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (2, 2, 8, 1);
INSERT INTO stallbox.met VALUES (4, 8, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (0, 5, 3408432111295479326, 1);
INSERT INTO stallbox.met VALUES (1, 5, 3408432111295479326, 1);
INSERT INTO stallbox.met VALUES (2, 5, 5, 2);
INSERT INTO stallbox.met VALUES (0, 2, 6388829118082139156, 2);
INSERT INTO stallbox.met VALUES (1, 2, 6388829118082139156, 2);
INSERT INTO stallbox.met VALUES (1, -6, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (2, 2, 10, 1);
INSERT INTO stallbox.met VALUES (3, 2, 6388829118082139156, 2);
INSERT INTO stallbox.met VALUES (4, 10, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (0, 6, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (1, 6, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (1, -5, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (2, 6, 11, 1);
INSERT INTO stallbox.met VALUES (3, 6, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (4, 11, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (0, 7, 3408432111295479326, 1);
INSERT INTO stallbox.met VALUES (1, 7, 3408432111295479326, 1);
INSERT INTO stallbox.met VALUES (1, -2, 3408432111295479326, 1);
INSERT INTO stallbox.met VALUES (0, 3, 3236622716271837029, 1);
INSERT INTO stallbox.met VALUES (1, 3, 2764625665499782248, 1);
INSERT INTO stallbox.met VALUES (1, -5, 2764625665499782248, 1);
INSERT INTO stallbox.met VALUES (2, 3, 13, 1);
INSERT INTO stallbox.met VALUES (3, 3, 2764625665499782248, 1);
INSERT INTO stallbox.met VALUES (4, 13, 2764625665499782248, 1);
INSERT INTO stallbox.met VALUES (0, 7, 2764625665499782248, 1);
INSERT INTO stallbox.met VALUES (1, 7, 2764625665499782248, 1);
INSERT INTO stallbox.met VALUES (2, 7, 12, 2);
INSERT INTO stallbox.met VALUES (0, 8, 3408432111295479326, 1);
INSERT INTO stallbox.met VALUES (1, 8, 3408432111295479326, 1);
INSERT INTO stallbox.met VALUES (1, -5, 3408432111295479326, 2);
INSERT INTO stallbox.met VALUES (2, 8, 13, 1);
INSERT INTO stallbox.met VALUES (0, 4, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (1, 4, 6388829118082139156, 2);
INSERT INTO stallbox.met VALUES (1, -2, 6388829118082139156, 3);
INSERT INTO stallbox.met VALUES (2, 4, 12, 1);
INSERT INTO stallbox.met VALUES (0, 8, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (1, 8, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (2, 8, 7, 1);
INSERT INTO stallbox.met VALUES (0, 7, 5419260170633675159, 1);
INSERT INTO stallbox.met VALUES (1, 7, 5419260170633675159, 1);
INSERT INTO stallbox.met VALUES (1, -2, 5419260170633675159, 1);
INSERT INTO stallbox.met VALUES (2, 7, 18, 1);
INSERT INTO stallbox.met VALUES (0, 6, 2764625665499782248, 1);
INSERT INTO stallbox.met VALUES (1, 6, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (2, 6, 7, 1);
INSERT INTO stallbox.met VALUES (3, 6, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (4, 7, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (0, 9, 2764625665499782248, 1);
INSERT INTO stallbox.met VALUES (1, 9, 2764625665499782248, 1);
INSERT INTO stallbox.met VALUES (1, -6, 2764625665499782248, 2);
INSERT INTO stallbox.met VALUES (2, 9, 20, 1);
INSERT INTO stallbox.met VALUES (0, 6, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (1, 6, 6388829118082139156, 1);
INSERT INTO stallbox.met VALUES (1, -1, 6388829118082139156, 3);
INSERT INTO stallbox.met VALUES (2, 6, 21, 1);
INSERT INTO stallbox.met VALUES (0, 7, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (1, 7, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (1, -2, 3870714632743359372, 2);
INSERT INTO stallbox.met VALUES (2, 7, 2, 1);
INSERT INTO stallbox.met VALUES (3, 7, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (4, 2, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (0, 3, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (1, 3, 3870714632743359372, 1);
INSERT INTO stallbox.met VALUES (1, -5, 3870714632743359372, 2);
INSERT INTO stallbox.met VALUES (2, 3, 3, 1);
INSERT INTO stallbox.met_day VALUES (1, 20001, 1, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (1, -1, 1, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (-1, 20001, 1, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (-1, -1, 1, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (2, 20001, 2, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (2, -1, 2, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (4, 20002, 2, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (4, -1, 2, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-2, 20002, 2, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-2, -1, 2, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (5, 20001, 5, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (5, -1, 5, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-5, 20001, 5, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-5, -1, 5, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (4, 20001, 6, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (4, -1, 6, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (-6, 20001, 6, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (-6, -1, 6, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (3, 20000, 7, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (3, -1, 7, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (2, 20000, 8, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (2, -1, 8, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-2, 20000, 8, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-2, -1, 8, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (5, 20001, 5, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (5, -1, 5, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (-5, 20001, 5, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (-5, -1, 5, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (2, 20002, 10, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (2, -1, 10, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-6, 20002, 10, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-6, -1, 10, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (6, 20002, 11, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (6, -1, 11, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (-5, 20002, 11, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (-5, -1, 11, 3236622716271837029, 1);
INSERT INTO stallbox.met_day VALUES (7, 20000, 12, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (7, -1, 12, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (-2, 20000, 12, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (-2, -1, 12, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (3, 20001, 13, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (3, -1, 13, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (-5, 20001, 13, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (-5, -1, 13, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (7, 20001, 12, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (7, -1, 12, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (-6, 20001, 12, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (-6, -1, 12, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (8, 20002, 13, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (8, -1, 13, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (-5, 20002, 13, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (-5, -1, 13, 3408432111295479326, 1);
INSERT INTO stallbox.met_day VALUES (4, 20002, 12, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (4, -1, 12, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-2, 20002, 12, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-2, -1, 12, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (8, 20000, 7, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (8, -1, 7, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-1, 20000, 7, 6388829118082139156, 2);
INSERT INTO stallbox.met_day VALUES (-1, -1, 7, 6388829118082139156, 2);
INSERT INTO stallbox.met_day VALUES (7, 20001, 18, 5419260170633675159, 1);
INSERT INTO stallbox.met_day VALUES (7, -1, 18, 5419260170633675159, 1);
INSERT INTO stallbox.met_day VALUES (-2, 20001, 18, 5419260170633675159, 1);
INSERT INTO stallbox.met_day VALUES (-2, -1, 18, 5419260170633675159, 1);
INSERT INTO stallbox.met_day VALUES (6, 20000, 7, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (6, -1, 7, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (-5, 20000, 7, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (-5, -1, 7, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (9, 20001, 20, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (9, -1, 20, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (-6, 20001, 20, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (-6, -1, 20, 2764625665499782248, 1);
INSERT INTO stallbox.met_day VALUES (6, 20002, 21, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (6, -1, 21, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-1, 20002, 21, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (-1, -1, 21, 6388829118082139156, 1);
INSERT INTO stallbox.met_day VALUES (7, 20001, 2, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (7, -1, 2, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (-2, 20001, 2, 3870714632743359372, 2);
INSERT INTO stallbox.met_day VALUES (-2, -1, 2, 3870714632743359372, 2);
INSERT INTO stallbox.met_day VALUES (3, 20002, 3, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (3, -1, 3, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (-5, 20002, 3, 3870714632743359372, 1);
INSERT INTO stallbox.met_day VALUES (-5, -1, 3, 3870714632743359372, 1);
INSERT INTO stallbox.module VALUES (7, '\x030909', 'libc.so.6', 0, 0, 0, 2, 5);
INSERT INTO stallbox.module VALUES (2, '\x020909', 'libc.so.6', 0, 0, 0, 4, 8);
INSERT INTO stallbox.module VALUES (1, '\x010909', 'libm.so.6', 0, 0, 0, 9, 16);
INSERT INTO stallbox.payload VALUES (1, '\x616263');
INSERT INTO stallbox.payload VALUES (2, '\x616263');
INSERT INTO stallbox.payload VALUES (3, '\x616263');
INSERT INTO stallbox.payload VALUES (4, '\x616263');
INSERT INTO stallbox.payload VALUES (5, '\x616263');
INSERT INTO stallbox.payload VALUES (6, '\x616263');
INSERT INTO stallbox.payload VALUES (7, '\x616263');
INSERT INTO stallbox.payload VALUES (8, '\x616263');
INSERT INTO stallbox.payload VALUES (9, '\x616263');
INSERT INTO stallbox.payload VALUES (10, '\x616263');
INSERT INTO stallbox.payload VALUES (11, '\x616263');
INSERT INTO stallbox.payload VALUES (12, '\x616263');
INSERT INTO stallbox.payload VALUES (13, '\x616263');
INSERT INTO stallbox.payload VALUES (14, '\x616263');
INSERT INTO stallbox.payload VALUES (15, '\x616263');
INSERT INTO stallbox.payload VALUES (16, '\x616263');
INSERT INTO stallbox.payload VALUES (17, '\x616263');
INSERT INTO stallbox.payload VALUES (18, '\x616263');
INSERT INTO stallbox.payload VALUES (19, '\x616263');
INSERT INTO stallbox.payload VALUES (20, '\x616263');
INSERT INTO stallbox.payload VALUES (21, '\x616263');
INSERT INTO stallbox.payload VALUES (22, '\x616263');
INSERT INTO stallbox.payload VALUES (23, '\x616263');
INSERT INTO stallbox.payload VALUES (24, '\x616263');
INSERT INTO stallbox.place VALUES (3, '\x02010000000000000000000000000000', 3, '', 0, 3, 71, 64, 3, 3, 3, 2, 1728086898266, 1728087242853, 400000000, 13, 8);
INSERT INTO stallbox.place VALUES (1, '\x01010000000000000000000000000000', 1, '', 0, 1, 19, 30, 1, 1, 1, 1, 1728087070298, 1728087070298, 300000000, 1, 8);
INSERT INTO stallbox.place VALUES (9, '\x02000000000000000000000000000000', 9, '', 0, 1, 14, 6, 1, 1, 1, 0, 1728086734058, 1728086734058, 200000000, 20, 7);
INSERT INTO stallbox.place VALUES (5, '\x03010000000000000000000000000000', 5, '', 0, 2, 51, 50, 2, 2, 1, 1, 1728086687538, 1728087314181, 100000000, 9, 8);
INSERT INTO stallbox.place VALUES (6, '\x04010000000000000000000000000000', 6, '', 0, 3, 93, 70, 3, 3, 3, 2, 1728086920390, 1728087210317, 400000000, 21, 8);
INSERT INTO stallbox.place VALUES (2, '\x03000000000000000000000000000000', 2, '', 0, 3, 119, 22, 2, 2, 3, 1, 1728086923963, 1728087183256, 400000000, 10, 7);
INSERT INTO stallbox.place VALUES (4, '\x04000000000000000000000000000000', 4, '', 0, 3, 76, 34, 3, 2, 3, 1, 1728086507276, 1728087145965, 300000000, 16, 7);
INSERT INTO stallbox.place VALUES (8, '\x05010000000000000000000000000000', 8, '', 0, 2, 81, 12, 2, 2, 2, 0, 1728086485765, 1728087081016, 300000000, 17, 8);
INSERT INTO stallbox.place VALUES (7, '\x01000000000000000000000000000000', 7, '', 0, 4, 82, 80, 4, 4, 3, 1, 1728086872489, 1728087236394, 400000000, 22, 7);
INSERT INTO stallbox.rotating VALUES (1, '\x03000000000000000000000000000000');
INSERT INTO stallbox.rotating VALUES (4, '\x02000000000000000000000000000000');
INSERT INTO stallbox.rotating VALUES (5, '\x02000000000000000000000000000000');
INSERT INTO stallbox.rotating VALUES (7, '\x02000000000000000000000000000000');
INSERT INTO stallbox.rotating VALUES (8, '\x02000000000000000000000000000000');
INSERT INTO stallbox.rotating VALUES (10, '\x02000000000000000000000000000000');
INSERT INTO stallbox.rotating VALUES (11, '\x03000000000000000000000000000000');
INSERT INTO stallbox.rotating VALUES (13, '\x01000000000000000000000000000000');
INSERT INTO stallbox.rotating VALUES (19, '\x04000000000000000000000000000000');
INSERT INTO stallbox.rotating VALUES (22, '\x04000000000000000000000000000000');
INSERT INTO stallbox.rotating VALUES (24, '\x03000000000000000000000000000000');
INSERT INTO stallbox.said VALUES (1, 0, 1, 656417);
INSERT INTO stallbox.said VALUES (1, 2, 2, 5);
INSERT INTO stallbox.said VALUES (2, 0, 3, 265894);
INSERT INTO stallbox.said VALUES (2, 2, 4, 5);
INSERT INTO stallbox.said VALUES (4, 0, 1, 397366);
INSERT INTO stallbox.said VALUES (4, 2, 3, 5);
INSERT INTO stallbox.said VALUES (5, 0, 4, 731015);
INSERT INTO stallbox.said VALUES (5, 2, 1, 5);
INSERT INTO stallbox.said VALUES (5, 3, 2, 7);
INSERT INTO stallbox.said VALUES (6, 0, 3, 845910);
INSERT INTO stallbox.said VALUES (6, 2, 3, 5);
INSERT INTO stallbox.said VALUES (7, 0, 4, 240150);
INSERT INTO stallbox.said VALUES (7, 2, 2, 5);
INSERT INTO stallbox.said VALUES (7, 3, 1, 7);
INSERT INTO stallbox.said VALUES (8, 0, 3, 807173);
INSERT INTO stallbox.said VALUES (8, 2, 4, 5);
INSERT INTO stallbox.said VALUES (9, 0, 1, 467636);
INSERT INTO stallbox.said VALUES (9, 2, 3, 5);
INSERT INTO stallbox.said VALUES (10, 0, 2, 290457);
INSERT INTO stallbox.said VALUES (10, 2, 3, 5);
INSERT INTO stallbox.said VALUES (10, 3, 2, 7);
INSERT INTO stallbox.said VALUES (11, 0, 3, 794717);
INSERT INTO stallbox.said VALUES (11, 2, 4, 5);
INSERT INTO stallbox.said VALUES (12, 0, 3, 164451);
INSERT INTO stallbox.said VALUES (12, 2, 2, 5);
INSERT INTO stallbox.said VALUES (13, 0, 4, 41549);
INSERT INTO stallbox.said VALUES (13, 2, 4, 5);
INSERT INTO stallbox.said VALUES (14, 0, 1, 958182);
INSERT INTO stallbox.said VALUES (14, 2, 1, 5);
INSERT INTO stallbox.said VALUES (15, 0, 1, 506406);
INSERT INTO stallbox.said VALUES (15, 2, 3, 5);
INSERT INTO stallbox.said VALUES (15, 3, 3, 7);
INSERT INTO stallbox.said VALUES (16, 0, 3, 288114);
INSERT INTO stallbox.said VALUES (16, 2, 3, 5);
INSERT INTO stallbox.said VALUES (16, 3, 1, 7);
INSERT INTO stallbox.said VALUES (17, 0, 4, 423266);
INSERT INTO stallbox.said VALUES (17, 2, 2, 5);
INSERT INTO stallbox.said VALUES (18, 0, 4, 22503);
INSERT INTO stallbox.said VALUES (18, 2, 3, 5);
INSERT INTO stallbox.said VALUES (19, 0, 1, 64061);
INSERT INTO stallbox.said VALUES (19, 2, 4, 5);
INSERT INTO stallbox.said VALUES (19, 3, 1, 7);
INSERT INTO stallbox.said VALUES (20, 0, 1, 124623);
INSERT INTO stallbox.said VALUES (20, 2, 3, 5);
INSERT INTO stallbox.said VALUES (21, 0, 3, 334335);
INSERT INTO stallbox.said VALUES (21, 2, 4, 5);
INSERT INTO stallbox.said VALUES (22, 0, 1, 60439);
INSERT INTO stallbox.said VALUES (22, 2, 1, 5);
INSERT INTO stallbox.said VALUES (3, 0, 3, 336658);
INSERT INTO stallbox.said VALUES (3, 2, 3, 5);
INSERT INTO stallbox.said VALUES (3, 3, 2, 7);
INSERT INTO stallbox.snapshot VALUES (5, '\x05000000000000000000000000000000', 1728087314181, 20001, 3, '\x03000000000000000000000000000000', '0101000000000000', '1.2.0', 'anr', 0, 0, 40, 6, 1, 0, '1', NULL, 'io', 'lock', 'off_cpu', 'lock', 'm', 'it slept', 0, 5, 20001, 5, NULL, 8, NULL, NULL, 1795838258953, -5, 3236622716271837029, 6388829118082139156);
INSERT INTO stallbox.snapshot VALUES (10, '\x0a000000000000000000000000000000', 1728086923963, 20002, 3, '\x02000000000000000000000000000000', '0102000000000000', '1.1.0', 'anr', 400000000, 0, 37, 1, 1, 0, '1', NULL, 'cpu', 'cpu_contention', 'off_cpu', 'cpu_contention', 'm', 'it slept', 0, 2, 20002, 10, 991, 7, NULL, NULL, 1795838258964, -6, 6388829118082139156, 6388829118082139156);
INSERT INTO stallbox.snapshot VALUES (11, '\x0b000000000000000000000000000000', 1728087210317, 20002, 3, '\x03000000000000000000000000000000', '0100000000000000', '1.1.0', 'anr', 100000000, 0, 22, 4, 1, 0, '1', NULL, 'io', 'io', 'off_cpu', 'io', 'm', 'it slept', 0, 6, 20002, 11, 922, 8, NULL, NULL, 1795838258965, -5, 3236622716271837029, 3236622716271837029);
INSERT INTO stallbox.snapshot VALUES (12, '\x0c000000000000000000000000000000', 1728086872489, 20000, 3, '\x06000000000000000000000000000000', '0100000000000000', '1.2.0', 'anr', 100000000, 0, 9, 3, 1, 0, '1', NULL, 'io', 'cpu', 'off_cpu', 'cpu', 'm', 'it slept', 0, 7, 20000, 12, 922, 7, NULL, NULL, 1795838258965, -2, 3408432111295479326, 3408432111295479326);
INSERT INTO stallbox.snapshot VALUES (13, '\x0d000000000000000000000000000000', 1728086898266, 20001, 3, '\x03000000000000000000000000000000', '0100000000000000', '1.2.0', 'anr', 400000000, 0, 47, 5, 1, 0, '1', NULL, 'io', 'io', 'off_cpu', 'io', 'm', 'it slept', 0, 3, 20001, 13, 991, 8, NULL, NULL, 1795838258965, -5, 3236622716271837029, 2764625665499782248);
INSERT INTO stallbox.snapshot VALUES (14, '\x0e000000000000000000000000000000', 1728087068259, 20001, 3, '\x01000000000000000000000000000000', '0100000000000000', '1.2.0', 'anr', 400000000, 0, 23, 7, 1, 0, '1', NULL, 'cpu', 'lock', 'off_cpu', 'lock', 'm', 'it slept', 0, 7, 20001, 12, 991, 7, NULL, NULL, 1795838258967, -6, 2764625665499782248, 2764625665499782248);
INSERT INTO stallbox.snapshot VALUES (23, '\x17000000000000000000000000000000', 1728086793358, 20001, 3, '\x06000000000000000000000000000000', '0102000000000000', '1.0.0', 'anr', 100000000, 0, 36, 3, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 20001, 21, 922, 8, NULL, NULL, 1795838258981, NULL, 3408432111295479326, 3408432111295479326);
INSERT INTO stallbox.snapshot VALUES (24, '\x18000000000000000000000000000000', 1728086940333, 20001, 3, '\x01000000000000000000000000000000', '0100000000000000', '1.0.0', 'anr', 100000000, 0, 3, 1, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 20001, 18, 922, 7, NULL, NULL, 1795838258981, NULL, 2764625665499782248, 3236622716271837029);
INSERT INTO stallbox.snapshot VALUES (1, '\x01000000000000000000000000000000', 1728087070298, 20001, 3, '\x04000000000000000000000000000000', '0101000000000000', '1.1.0', 'anr', 300000000, 0, 19, 6, 1, 0, '1', NULL, 'cpu', 'cpu', 'off_cpu', 'cpu', 'm', 'it slept', 0, 1, 20001, 1, 976, 8, NULL, NULL, 1795838258933, -1, 3870714632743359372, 3236622716271837029);
INSERT INTO stallbox.snapshot VALUES (2, '\x02000000000000000000000000000000', 1728086957275, 20001, 3, '\x04000000000000000000000000000000', '0102000000000000', '1.0.0', 'anr', 400000000, 0, 42, 2, 1, 0, '1', NULL, 'io', 'io', 'off_cpu', 'io', 'm', 'it slept', 0, 2, 20001, 2, 991, 7, NULL, NULL, 1795838258945, -2, 3870714632743359372, 3870714632743359372);
INSERT INTO stallbox.snapshot VALUES (4, '\x04000000000000000000000000000000', 1728087145965, 20002, 3, '\x05000000000000000000000000000000', '0102000000000000', '1.0.0', 'anr', 0, 0, 20, 6, 1, 0, '1', NULL, 'io', 'cpu_contention', 'off_cpu', 'cpu_contention', 'm', 'it slept', 0, 4, 20002, 2, NULL, 7, NULL, NULL, 1795838258949, -2, 5419260170633675159, 6388829118082139156);
INSERT INTO stallbox.snapshot VALUES (6, '\x06000000000000000000000000000000', 1728086537510, 20001, 3, '\x03000000000000000000000000000000', '0100000000000000', '1.1.0', 'anr', 0, 0, 9, 2, 1, 0, '1', NULL, 'cpu', 'cpu_contention', 'off_cpu', 'cpu_contention', 'm', 'it slept', 0, 4, 20001, 6, NULL, 7, NULL, NULL, 1795838258959, -6, 3236622716271837029, 3236622716271837029);
INSERT INTO stallbox.snapshot VALUES (7, '\x07000000000000000000000000000000', 1728087242853, 20000, 3, '\x06000000000000000000000000000000', '0100000000000000', '1.0.0', 'anr', 0, 0, 22, 7, 1, 0, '1', NULL, 'cpu', 'cpu', 'off_cpu', 'cpu', 'm', 'it slept', 0, 3, 20000, 7, NULL, 8, NULL, NULL, 1795838258961, -1, 3408432111295479326, 6388829118082139156);
INSERT INTO stallbox.snapshot VALUES (8, '\x08000000000000000000000000000000', 1728087183256, 20000, 3, '\x02000000000000000000000000000000', '0102000000000000', '1.2.0', 'anr', 300000000, 0, 40, 5, 1, 0, '1', NULL, 'io', 'io', 'off_cpu', 'io', 'm', 'it slept', 0, 2, 20000, 8, 976, 7, NULL, NULL, 1795838258962, -2, 6388829118082139156, 6388829118082139156);
INSERT INTO stallbox.snapshot VALUES (9, '\x09000000000000000000000000000000', 1728086687538, 20001, 3, '\x06000000000000000000000000000000', '0101000000000000', '1.2.0', 'anr', 100000000, 0, 11, 5, 1, 0, '1', NULL, 'io', 'cpu_contention', 'off_cpu', 'cpu_contention', 'm', 'it slept', 0, 5, 20001, 5, 922, 8, NULL, NULL, 1795838258962, -5, 3408432111295479326, 3408432111295479326);
INSERT INTO stallbox.snapshot VALUES (15, '\x0f000000000000000000000000000000', 1728086485765, 20002, 3, '\x06000000000000000000000000000000', '0100000000000000', '1.2.0', 'anr', 200000000, 0, 45, 4, 1, 0, '1', NULL, 'io', 'cpu_contention', 'off_cpu', 'cpu_contention', 'm', 'it slept', 0, 8, 20002, 13, 956, 8, NULL, NULL, 1795838258969, -5, 3408432111295479326, 3408432111295479326);
INSERT INTO stallbox.snapshot VALUES (16, '\x10000000000000000000000000000000', 1728086507276, 20002, 3, '\x02000000000000000000000000000000', '0100000000000000', '1.2.0', 'anr', 300000000, 0, 47, 2, 1, 0, '1', NULL, 'io', 'cpu_contention', 'off_cpu', 'cpu_contention', 'm', 'it slept', 0, 4, 20002, 12, 976, 7, NULL, NULL, 1795838258969, -2, 6388829118082139156, 6388829118082139156);
INSERT INTO stallbox.snapshot VALUES (17, '\x11000000000000000000000000000000', 1728087081016, 20000, 3, '\x02000000000000000000000000000000', '0100000000000000', '1.0.0', 'anr', 300000000, 0, 36, 1, 1, 0, '1', NULL, 'cpu', 'cpu', 'off_cpu', 'cpu', 'm', 'it slept', 0, 8, 20000, 7, 976, 8, NULL, NULL, 1795838258969, -1, 6388829118082139156, 6388829118082139156);
INSERT INTO stallbox.snapshot VALUES (18, '\x12000000000000000000000000000000', 1728087236394, 20001, 3, '\x05000000000000000000000000000000', '0100000000000000', '1.0.0', 'anr', 200000000, 0, 17, 6, 1, 0, '1', NULL, 'io', 'cpu_contention', 'off_cpu', 'cpu_contention', 'm', 'it slept', 0, 7, 20001, 18, 956, 7, NULL, NULL, 1795838258974, -2, 5419260170633675159, 5419260170633675159);
INSERT INTO stallbox.snapshot VALUES (19, '\x13000000000000000000000000000000', 1728087180903, 20000, 3, '\x01000000000000000000000000000000', '0100000000000000', '1.0.0', 'anr', 400000000, 0, 34, 8, 1, 0, '1', NULL, 'io', 'io', 'off_cpu', 'io', 'm', 'it slept', 0, 6, 20000, 7, 991, 8, NULL, NULL, 1795838258974, -5, 2764625665499782248, 3870714632743359372);
INSERT INTO stallbox.snapshot VALUES (20, '\x14000000000000000000000000000000', 1728086734058, 20001, 3, '\x01000000000000000000000000000000', '0101000000000000', '1.2.0', 'anr', 200000000, 0, 14, 3, 1, 0, '1', NULL, 'cpu', 'cpu_contention', 'off_cpu', 'cpu_contention', 'm', 'it slept', 0, 9, 20001, 20, 956, 7, NULL, NULL, 1795838258977, -6, 2764625665499782248, 2764625665499782248);
INSERT INTO stallbox.snapshot VALUES (21, '\x15000000000000000000000000000000', 1728086920390, 20002, 3, '\x02000000000000000000000000000000', '0102000000000000', '1.0.0', 'anr', 100000000, 0, 37, 2, 1, 0, '1', NULL, 'cpu', 'io', 'off_cpu', 'io', 'm', 'it slept', 0, 6, 20002, 21, 922, 8, NULL, NULL, 1795838258977, -1, 6388829118082139156, 6388829118082139156);
INSERT INTO stallbox.snapshot VALUES (22, '\x16000000000000000000000000000000', 1728087102042, 20001, 3, '\x04000000000000000000000000000000', '0102000000000000', '1.0.0', 'anr', 200000000, 0, 33, 2, 1, 0, '1', NULL, 'io', 'lock', 'off_cpu', 'lock', 'm', 'it slept', 0, 7, 20001, 2, 956, 7, NULL, NULL, 1795838258978, -2, 3870714632743359372, 3870714632743359372);
INSERT INTO stallbox.snapshot VALUES (3, '\x03000000000000000000000000000000', 1728087187380, 20002, 3, '\x04000000000000000000000000000000', '0101000000000000', '1.0.0', 'anr', 0, 0, 2, 2, 1, 0, '1', NULL, 'io', 'cpu_contention', 'off_cpu', 'cpu_contention', 'm', 'it slept', 0, 3, 20002, 3, NULL, 8, NULL, NULL, 1795838258948, -5, 3870714632743359372, 3870714632743359372);
INSERT INTO stallbox.spread VALUES (1, 20001, 1, 976, 19);
INSERT INTO stallbox.spread VALUES (1, -1, 1, 976, 19);
INSERT INTO stallbox.spread VALUES (-1, 20001, 1, 976, 19);
INSERT INTO stallbox.spread VALUES (-1, -1, 1, 976, 19);
INSERT INTO stallbox.spread VALUES (2, 20001, 2, 991, 42);
INSERT INTO stallbox.spread VALUES (2, -1, 2, 991, 42);
INSERT INTO stallbox.spread VALUES (-2, 20001, 2, 991, 42);
INSERT INTO stallbox.spread VALUES (-2, -1, 2, 991, 42);
INSERT INTO stallbox.spread VALUES (2, 20000, 8, 976, 40);
INSERT INTO stallbox.spread VALUES (2, -1, 8, 976, 40);
INSERT INTO stallbox.spread VALUES (-2, 20000, 8, 976, 40);
INSERT INTO stallbox.spread VALUES (-2, -1, 8, 976, 40);
INSERT INTO stallbox.spread VALUES (5, 20001, 5, 922, 11);
INSERT INTO stallbox.spread VALUES (5, -1, 5, 922, 11);
INSERT INTO stallbox.spread VALUES (-5, 20001, 5, 922, 11);
INSERT INTO stallbox.spread VALUES (-5, -1, 5, 922, 11);
INSERT INTO stallbox.spread VALUES (2, 20002, 10, 991, 37);
INSERT INTO stallbox.spread VALUES (2, -1, 10, 991, 37);
INSERT INTO stallbox.spread VALUES (-6, 20002, 10, 991, 37);
INSERT INTO stallbox.spread VALUES (-6, -1, 10, 991, 37);
INSERT INTO stallbox.spread VALUES (6, 20002, 11, 922, 22);
INSERT INTO stallbox.spread VALUES (6, -1, 11, 922, 22);
INSERT INTO stallbox.spread VALUES (-5, 20002, 11, 922, 22);
INSERT INTO stallbox.spread VALUES (-5, -1, 11, 922, 22);
INSERT INTO stallbox.spread VALUES (7, 20000, 12, 922, 9);
INSERT INTO stallbox.spread VALUES (7, -1, 12, 922, 9);
INSERT INTO stallbox.spread VALUES (-2, 20000, 12, 922, 9);
INSERT INTO stallbox.spread VALUES (-2, -1, 12, 922, 9);
INSERT INTO stallbox.spread VALUES (3, 20001, 13, 991, 47);
INSERT INTO stallbox.spread VALUES (3, -1, 13, 991, 47);
INSERT INTO stallbox.spread VALUES (-5, 20001, 13, 991, 47);
INSERT INTO stallbox.spread VALUES (-5, -1, 13, 991, 47);
INSERT INTO stallbox.spread VALUES (7, 20001, 12, 991, 23);
INSERT INTO stallbox.spread VALUES (7, -1, 12, 991, 23);
INSERT INTO stallbox.spread VALUES (-6, 20001, 12, 991, 23);
INSERT INTO stallbox.spread VALUES (-6, -1, 12, 991, 23);
INSERT INTO stallbox.spread VALUES (8, 20002, 13, 956, 45);
INSERT INTO stallbox.spread VALUES (8, -1, 13, 956, 45);
INSERT INTO stallbox.spread VALUES (-5, 20002, 13, 956, 45);
INSERT INTO stallbox.spread VALUES (-5, -1, 13, 956, 45);
INSERT INTO stallbox.spread VALUES (4, 20002, 12, 976, 47);
INSERT INTO stallbox.spread VALUES (4, -1, 12, 976, 47);
INSERT INTO stallbox.spread VALUES (-2, 20002, 12, 976, 47);
INSERT INTO stallbox.spread VALUES (-2, -1, 12, 976, 47);
INSERT INTO stallbox.spread VALUES (8, 20000, 7, 976, 36);
INSERT INTO stallbox.spread VALUES (8, -1, 7, 976, 36);
INSERT INTO stallbox.spread VALUES (-1, 20000, 7, 976, 36);
INSERT INTO stallbox.spread VALUES (-1, -1, 7, 976, 36);
INSERT INTO stallbox.spread VALUES (7, 20001, 18, 956, 17);
INSERT INTO stallbox.spread VALUES (7, -1, 18, 956, 17);
INSERT INTO stallbox.spread VALUES (-2, 20001, 18, 956, 17);
INSERT INTO stallbox.spread VALUES (-2, -1, 18, 956, 17);
INSERT INTO stallbox.spread VALUES (6, 20000, 7, 991, 34);
INSERT INTO stallbox.spread VALUES (6, -1, 7, 991, 34);
INSERT INTO stallbox.spread VALUES (-5, 20000, 7, 991, 34);
INSERT INTO stallbox.spread VALUES (-5, -1, 7, 991, 34);
INSERT INTO stallbox.spread VALUES (9, 20001, 20, 956, 14);
INSERT INTO stallbox.spread VALUES (9, -1, 20, 956, 14);
INSERT INTO stallbox.spread VALUES (-6, 20001, 20, 956, 14);
INSERT INTO stallbox.spread VALUES (-6, -1, 20, 956, 14);
INSERT INTO stallbox.spread VALUES (6, 20002, 21, 922, 37);
INSERT INTO stallbox.spread VALUES (6, -1, 21, 922, 37);
INSERT INTO stallbox.spread VALUES (-1, 20002, 21, 922, 37);
INSERT INTO stallbox.spread VALUES (-1, -1, 21, 922, 37);
INSERT INTO stallbox.spread VALUES (7, 20001, 2, 956, 33);
INSERT INTO stallbox.spread VALUES (7, -1, 2, 956, 33);
INSERT INTO stallbox.spread VALUES (-2, 20001, 2, 956, 33);
INSERT INTO stallbox.spread VALUES (-2, -1, 2, 956, 33);
INSERT INTO stallbox.stall_end VALUES ('\x03000000000000000000000000000000', '\x03010000000000000000000000000000', '\x02000000000000000000000000000000', 1, 0, 1400000000, 1728086400000, NULL);
INSERT INTO stallbox.stall_end VALUES ('\x1e000000000000000000000000000000', '\x1e010000000000000000000000000000', '\x06000000000000000000000000000000', 1, 0, 400000000, 1728086400000, NULL);
INSERT INTO stallbox.version VALUES (7);
INSERT INTO stallbox.word VALUES (1, 'lock', 14);
INSERT INTO stallbox.word VALUES (4, 'io', 11);
INSERT INTO stallbox.word VALUES (3, 'cpu_contention', 18);
INSERT INTO stallbox.word VALUES (2, 'cpu', 8);
SELECT pg_catalog.setval('stallbox.app_num_seq', 23, true);
SELECT pg_catalog.setval('stallbox.arrival_num_seq', 1, false);
SELECT pg_catalog.setval('stallbox.build_num_seq', 24, true);
SELECT pg_catalog.setval('stallbox.event_num_seq', 1, false);
SELECT pg_catalog.setval('stallbox.issue_num_seq', 9, true);
SELECT pg_catalog.setval('stallbox.module_id_seq', 23, true);
SELECT pg_catalog.setval('stallbox.place_num_seq', 9, true);
SELECT pg_catalog.setval('stallbox.sealed_seq_seq', 1, false);
SELECT pg_catalog.setval('stallbox.snapshot_seq_seq', 24, true);
SELECT pg_catalog.setval('stallbox.word_num_seq', 54, true);
ALTER TABLE ONLY stallbox.active
    ADD CONSTRAINT active_pkey PRIMARY KEY (tenant, day, version);
ALTER TABLE ONLY stallbox.alias
    ADD CONSTRAINT alias_pkey PRIMARY KEY (id);
ALTER TABLE ONLY stallbox.app
    ADD CONSTRAINT app_pkey PRIMARY KEY (num);
ALTER TABLE ONLY stallbox.app
    ADD CONSTRAINT app_tenant_name_key UNIQUE (tenant, name);
ALTER TABLE ONLY stallbox.arrival
    ADD CONSTRAINT arrival_pkey PRIMARY KEY (num);
ALTER TABLE ONLY stallbox.blob_debt
    ADD CONSTRAINT blob_debt_pkey PRIMARY KEY (key);
ALTER TABLE ONLY stallbox.build
    ADD CONSTRAINT build_pkey PRIMARY KEY (num);
ALTER TABLE ONLY stallbox.build
    ADD CONSTRAINT build_tenant_version_build_id_key UNIQUE (tenant, version, build_id);
ALTER TABLE ONLY stallbox.erased
    ADD CONSTRAINT erased_pkey PRIMARY KEY (id);
ALTER TABLE ONLY stallbox.event
    ADD CONSTRAINT event_app_version_issue_kind_key UNIQUE (app, version, issue, kind);
ALTER TABLE ONLY stallbox.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (num);
ALTER TABLE ONLY stallbox.fact
    ADD CONSTRAINT fact_pkey PRIMARY KEY (place, day, build);
ALTER TABLE ONLY stallbox.gap
    ADD CONSTRAINT gap_pkey PRIMARY KEY (module, seq);
ALTER TABLE ONLY stallbox.issue
    ADD CONSTRAINT issue_id_key UNIQUE (id);
ALTER TABLE ONLY stallbox.issue
    ADD CONSTRAINT issue_pkey PRIMARY KEY (num);
ALTER TABLE ONLY stallbox.kin_holder
    ADD CONSTRAINT kin_holder_pkey PRIMARY KEY (seq, session);
ALTER TABLE ONLY stallbox.kin
    ADD CONSTRAINT kin_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY stallbox.label
    ADD CONSTRAINT label_pkey PRIMARY KEY (place, day, build, kind, word);
ALTER TABLE ONLY stallbox.look
    ADD CONSTRAINT look_pkey PRIMARY KEY (app, version);
ALTER TABLE ONLY stallbox.met_day
    ADD CONSTRAINT met_day_pkey PRIMARY KEY (place, day, build, who);
ALTER TABLE ONLY stallbox.met
    ADD CONSTRAINT met_pkey PRIMARY KEY (kind, of, who);
ALTER TABLE ONLY stallbox.module
    ADD CONSTRAINT module_build_id_key UNIQUE (build_id);
ALTER TABLE ONLY stallbox.module
    ADD CONSTRAINT module_pkey PRIMARY KEY (id);
ALTER TABLE ONLY stallbox.payload
    ADD CONSTRAINT payload_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY stallbox.place
    ADD CONSTRAINT place_id_key UNIQUE (id);
ALTER TABLE ONLY stallbox.place
    ADD CONSTRAINT place_pkey PRIMARY KEY (num);
ALTER TABLE ONLY stallbox.policy
    ADD CONSTRAINT policy_pkey PRIMARY KEY (app);
ALTER TABLE ONLY stallbox.profile
    ADD CONSTRAINT profile_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY stallbox.rotating
    ADD CONSTRAINT rotating_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY stallbox.said
    ADD CONSTRAINT said_pkey PRIMARY KEY (seq, kind, word);
ALTER TABLE ONLY stallbox.sealed
    ADD CONSTRAINT sealed_id_key UNIQUE (id);
ALTER TABLE ONLY stallbox.sealed
    ADD CONSTRAINT sealed_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY stallbox.snapshot
    ADD CONSTRAINT snapshot_id_key UNIQUE (id);
ALTER TABLE ONLY stallbox.snapshot
    ADD CONSTRAINT snapshot_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY stallbox.spread
    ADD CONSTRAINT spread_pkey PRIMARY KEY (place, day, build, bucket);
ALTER TABLE ONLY stallbox.stall_end
    ADD CONSTRAINT stall_end_pkey PRIMARY KEY (first);
ALTER TABLE ONLY stallbox.symbol_sender
    ADD CONSTRAINT symbol_sender_pkey PRIMARY KEY (build_id, tenant);
ALTER TABLE ONLY stallbox.was_in
    ADD CONSTRAINT was_in_pkey PRIMARY KEY (issue, seq);
ALTER TABLE ONLY stallbox.word
    ADD CONSTRAINT word_pkey PRIMARY KEY (num);
ALTER TABLE ONLY stallbox.word
    ADD CONSTRAINT word_text_key UNIQUE (text);
CREATE INDEX active_of_day ON stallbox.active USING btree (day);
CREATE INDEX alias_of_issue ON stallbox.alias USING btree (issue);
CREATE INDEX blob_debt_at ON stallbox.blob_debt USING btree (at_ms);
CREATE INDEX event_to_tell ON stallbox.event USING btree (next_ms) WHERE (state = 1);
CREATE INDEX gap_of_snapshot ON stallbox.gap USING btree (seq);
CREATE INDEX kin_of_moment ON stallbox.kin USING btree (family, moment);
CREATE INDEX met_gone ON stallbox.met USING btree (kind) WHERE (count <= 0);
CREATE INDEX module_renamed ON stallbox.module USING btree (id) WHERE (next_seq > 0);
CREATE INDEX place_of_issue ON stallbox.place USING btree (issue);
CREATE INDEX rotating_id ON stallbox.rotating USING btree (id);
CREATE INDEX sealed_received ON stallbox.sealed USING btree (received_ms);
CREATE INDEX sealed_waiting ON stallbox.sealed USING btree (key_id, seq) WHERE ((envelope IS NOT NULL) AND (failure IS NULL));
CREATE INDEX snapshot_failed ON stallbox.snapshot USING btree (seq) WHERE (state = 2);
CREATE INDEX snapshot_of_app ON stallbox.snapshot USING btree (app, received_ms, app_build_id);
CREATE INDEX snapshot_of_build ON stallbox.snapshot USING btree (app_build_id, seq);
CREATE INDEX snapshot_of_place ON stallbox.snapshot USING btree (place, seq);
CREATE INDEX snapshot_of_place_duration ON stallbox.snapshot USING btree (place, duration_ns);
CREATE INDEX snapshot_of_place_received ON stallbox.snapshot USING btree (place, received_ms);
CREATE INDEX snapshot_of_tenant ON stallbox.snapshot USING btree (tenant, seq);
CREATE INDEX snapshot_pending ON stallbox.snapshot USING btree (attempts, seq) WHERE (state = 0);
CREATE INDEX snapshot_received ON stallbox.snapshot USING btree (received_ms);
CREATE INDEX snapshot_with_blob ON stallbox.snapshot USING btree (seq) WHERE (blob IS NOT NULL);
CREATE INDEX snapshot_with_payload ON stallbox.snapshot USING btree (received_ms) WHERE (bytes > 0);
CREATE INDEX stall_end_received ON stallbox.stall_end USING btree (received_ms);
CREATE INDEX stall_end_rotating ON stallbox.stall_end USING btree (rotating) WHERE (rotating IS NOT NULL);
CREATE INDEX was_in_of_snapshot ON stallbox.was_in USING btree (seq, at_ms);
CREATE INDEX word_unused ON stallbox.word USING btree (num) WHERE (used = 0);
CREATE TRIGGER gap_comes AFTER INSERT ON stallbox.gap FOR EACH ROW EXECUTE FUNCTION stallbox.gap_comes();
CREATE TRIGGER gap_goes AFTER DELETE ON stallbox.gap REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION stallbox.gap_goes();
CREATE TRIGGER met_comes AFTER INSERT ON stallbox.met FOR EACH ROW EXECUTE FUNCTION stallbox.met_comes();
CREATE TRIGGER met_day_comes AFTER INSERT ON stallbox.met_day FOR EACH ROW EXECUTE FUNCTION stallbox.met_day_comes();
CREATE TRIGGER met_day_goes AFTER DELETE ON stallbox.met_day REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION stallbox.met_day_goes();
CREATE TRIGGER met_goes AFTER DELETE ON stallbox.met REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION stallbox.met_goes();
CREATE TRIGGER snapshot_goes AFTER DELETE ON stallbox.snapshot REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION stallbox.snapshot_goes();
CREATE TRIGGER word_comes AFTER INSERT ON stallbox.said FOR EACH ROW EXECUTE FUNCTION stallbox.word_comes();
CREATE TRIGGER word_goes AFTER DELETE ON stallbox.said REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION stallbox.word_goes();
