"""Decrypts a backup of svc: python3 decrypt.py FILE.tar.gz.enc FILE.tar.gz < PASSPHRASE

docs/reference/backup-file.md describes the file. Needs the package `cryptography`. The output is whole only when this ends with 0:
then `tar xzf` reads it. Under a name that ends in .part until then.
"""
import os
import struct
import sys

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

HEADER = struct.Struct(">8sBBBBI32s")  # magic, version, log2 N, r, p, octets in a frame, salt
FRAME = struct.Struct(">BI")  # 1 in the last frame, else 0; octets of content
TAG = 16


def exactly(source, count):
    octets = source.read(count)
    if len(octets) != count:
        sys.exit("the end of the file is missing")
    return octets


def decrypt(source, target, passphrase):
    header = exactly(source, HEADER.size)
    magic, version, log_n, r, p, frame_octets, salt = HEADER.unpack(header)
    if magic != b"SVCBKP\r\n" or version != 1:
        sys.exit("this is no encrypted backup of version 1")
    key = Scrypt(salt=salt, length=32, n=1 << log_n, r=r, p=p).derive(passphrase)
    cipher = AESGCM(key)
    number = 0
    while True:
        head = exactly(source, FRAME.size)
        is_last, length = FRAME.unpack(head)
        if length > frame_octets:
            sys.exit(f"frame {number} is damaged")
        sealed = exactly(source, length + TAG)
        try:
            target.write(cipher.decrypt(number.to_bytes(12, "big"), sealed, header + head))
        except InvalidTag:
            sys.exit(f"frame {number} is damaged, or the passphrase is another one")
        number += 1
        if is_last:
            break
    if source.read(1):
        sys.exit("something was added behind the end")


if __name__ == "__main__":
    enc, out = sys.argv[1:]
    words = sys.stdin.buffer.readline().rstrip(b"\r\n")
    with open(enc, "rb") as source, open(os.open(out + ".part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as target:
        decrypt(source, target, words)
    os.rename(out + ".part", out)
