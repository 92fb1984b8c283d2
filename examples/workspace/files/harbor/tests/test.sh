#!/bin/bash
grep -cx 12 /app/total.txt > /logs/verifier/reward.txt
