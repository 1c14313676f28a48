#!/bin/bash
set -euo pipefail

install -d /opt/thinking/logsniffer
install -m 644 "$INPUT_APP" "$INPUT_PAGE" /opt/thinking/logsniffer/
echo "logsniffer: installed $(ls /opt/thinking/logsniffer | tr '\n' ' ')"
