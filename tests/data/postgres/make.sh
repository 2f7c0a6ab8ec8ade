#!/bin/sh
# The certificates of the tests' Postgres: an authority, a server's certificate for `localhost` that it signed, and an authority
# that signed nothing. Good from 2020 to 2120, whatever a machine's clock says, and for nothing else: no store trusts them.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sign() { # request, extensions, certificate, and who signs
  request=$1 extensions=$2 certificate=$3
  shift 3
  : > "$work/index"
  openssl rand -hex 16 > "$work/serial"
  openssl ca -batch -notext -config "$work/ca.cnf" -in "$request" -extfile "$extensions" -out "$certificate" \
    -startdate 20200101000000Z -enddate 21200101000000Z "$@"
}
request() { # subject, key, request
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$2" -out "$3"
}
cat > "$work/ca.cnf" <<END
[ca]
default_ca = own
[own]
database = $work/index
serial = $work/serial
new_certs_dir = $work
default_md = sha256
policy = any
[any]
commonName = supplied
END
printf 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n' > "$work/authority.ext"
printf 'basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\n' > "$work/server.ext"
for name in authority stranger; do
  request "wasmhost tests: $name" "$work/$name.key" "$work/$name.csr"
  sign "$work/$name.csr" "$work/authority.ext" "$name.crt" -selfsign -keyfile "$work/$name.key"
done
request localhost server.key "$work/server.csr"
sign "$work/server.csr" "$work/server.ext" server.crt -cert authority.crt -keyfile "$work/authority.key"
