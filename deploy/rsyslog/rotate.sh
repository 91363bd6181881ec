#!/bin/sh
# rsyslog calls this when the file has grown to its limit: one file before it is kept.
exec mv -f /var/lib/siem/events.log /var/lib/siem/events.log.1
