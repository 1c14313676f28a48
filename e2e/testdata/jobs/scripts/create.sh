#!/bin/sh
echo created >>/data/ran
