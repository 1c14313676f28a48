#!/bin/sh
rm -rf /opt/thinking/logsniffer
