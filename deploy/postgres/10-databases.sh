#!/bin/sh
# Two databases, each with an owner of its own. PostgreSQL's image runs this once, on an empty volume.
set -eu
for name in airflow catalog; do
    case "$name" in
        airflow) password="$AIRFLOW_DB_PASSWORD" ;;
        catalog) password="$CATALOG_DB_PASSWORD" ;;
    esac
    # by standard input: a password in an argument could be read by any process
    psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<SQL
CREATE ROLE $name LOGIN PASSWORD '$password';
CREATE DATABASE $name OWNER $name;
REVOKE ALL ON DATABASE $name FROM PUBLIC;
SQL
done
