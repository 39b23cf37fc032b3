ffmpeg -v error -f lavfi -i 'color=white:s=800x120:d=1' -frames:v 1 -vf \
  "drawtext=text='The quick brown fox jumps over':fontsize=40:x=20:y=40:fontcolor=black" in.png
"$P" in.png out -l eng hocr txt
grep -q 'quick brown fox' out.txt
