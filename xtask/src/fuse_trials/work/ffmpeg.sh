"$P" -v error -f lavfi -i testsrc=d=2:s=320x240:r=25 -f lavfi -i sine=d=2 -vf "drawtext=text='fused':fontsize=32:x=20:y=20" \
  -threads 1 -c:v libx264 -c:a aac -flags +bitexact -fflags +bitexact out.mp4
"$P" -v error -i out.mp4 -threads 1 -frames:v 12 -c:v libvpx -c:a libvorbis -flags +bitexact -fflags +bitexact out.webm
"$P" -v error -i out.webm -threads 1 -f framemd5 frames.txt
"$P" -v error -i out.mp4 -frames:v 1 -vf scale=64:-1 still.jxl || "$P" -v error -i out.mp4 -frames:v 1 -vf scale=64:-1 still.png
