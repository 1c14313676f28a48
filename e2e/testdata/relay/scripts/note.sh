#!/bin/sh
echo "$(cat /etc/hostname) $TOSKOSE_COMPONENT ${TOSKOSE_OPERATION#Standard.}" >>/chaos/ran
