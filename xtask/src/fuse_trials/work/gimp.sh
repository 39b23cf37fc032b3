"$P" -i -d -f -b '(let* ((image (car (gimp-image-new 200 100 RGB)))
  (layer (car (gimp-layer-new image 200 100 RGB-IMAGE "a" 100 LAYER-MODE-NORMAL))))
  (gimp-image-insert-layer image layer 0 0) (gimp-context-set-foreground (list 200 30 90)) (gimp-drawable-fill layer FILL-FOREGROUND)
  (gimp-image-select-ellipse image CHANNEL-OP-REPLACE 40 10 120 80) (gimp-context-set-foreground (list 20 160 90))
  (gimp-drawable-edit-fill layer FILL-FOREGROUND) (gimp-selection-none image) (plug-in-gauss RUN-NONINTERACTIVE image layer 9 9 0)
  (file-png-save RUN-NONINTERACTIVE image layer "out.png" "out.png" 0 9 0 0 0 0 0))' -b '(gimp-quit 1)' >/dev/null 2>&1
# The file has the time of its writing.
ffmpeg -v error -i out.png -f framemd5 pixels.txt
rm out.png
