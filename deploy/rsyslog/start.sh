#!/bin/sh
# Makes a key and a certificate at the first start, and runs rsyslogd. The certificate is its own issuer: who
# trusts /var/lib/siem-ca/ca.pem trusts this receiver and no other.
set -eu
umask 077
if [ ! -s /var/lib/siem/server.key ] || [ ! -s /var/lib/siem-ca/ca.pem ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj /CN=siem -addext subjectAltName=DNS:siem -keyout /var/lib/siem/server.key -out /tmp/ca.pem
  chmod 644 /tmp/ca.pem
  mv /tmp/ca.pem /var/lib/siem-ca/ca.pem
fi
exec rsyslogd -n -iNONE
