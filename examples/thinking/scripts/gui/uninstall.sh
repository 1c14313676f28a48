#!/bin/sh
rm -rf /opt/thinking/gui
