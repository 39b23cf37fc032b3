# 400 packets of DNS and HTTP, written by hand.
python3 - <<'P'
import struct
def packet(second, data):
    return struct.pack('<IIII', second, 0, len(data), len(data)) + data
def ip(protocol, data):
    head = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(data), 1, 0, 64, protocol, 0, b'\x0a\0\0\1', b'\x0a\0\0\2')
    return b'\x02' * 6 + b'\x04' * 6 + b'\x08\0' + head + data
out = struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
request = b'GET /x HTTP/1.1\r\nHost: e\r\n\r\n'
for i in range(200):
    query = struct.pack('>HHHHHH', i, 0x100, 1, 0, 0, 0) + b'\x07example\x03com\0' + struct.pack('>HH', 1, 1)
    out += packet(1000 + i, ip(17, struct.pack('>HHHH', 4000 + i, 53, 8 + len(query), 0) + query))
    out += packet(1000 + i, ip(6, struct.pack('>HHIIBBHHH', 5000 + i, 80, 1, 0, 0x50, 0x18, 1000, 0, 0) + request))
open('in.pcap', 'wb').write(out)
P
"$P" -r in.pcap -V > details
"$P" -r in.pcap -T json -Y 'dns or http' > json
"$P" -r in.pcap -q -z io,phs > statistics
