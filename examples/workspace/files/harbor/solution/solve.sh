#!/bin/bash
cut -d, -f2 sales.csv | paste -sd+ | (read sum; echo $((sum))) > /app/total.txt
