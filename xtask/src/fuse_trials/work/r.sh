export R_HOME=/usr/lib/R LD_LIBRARY_PATH=/usr/lib/R/lib
cat > in.R <<'S'
set.seed(1)
x <- rnorm(500)
y <- 2 * x + rnorm(500)
print(summary(lm(y ~ x)))
print(svd(matrix(rnorm(400), 20))$d)
print(fft(1:16))
pdf("out.pdf")
plot(x, y)
dev.off()
S
"$P" --no-save --no-echo -f in.R
sed -i 's/^.*Date (D:.*$//' out.pdf
