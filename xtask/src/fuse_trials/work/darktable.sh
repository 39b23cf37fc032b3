ffmpeg -v error -f lavfi -i testsrc=s=640x480:d=1 -frames:v 1 in.jpg
"$P" in.jpg out.png --core --configdir "$PWD/configuration" --library :memory: > /dev/null
# The pixels: the file has the time in it.
ffmpeg -v error -i out.png -f md5 -
rm -r out.png configuration
