"$P" --quiet --no-init-file --eval '
A = magic(5) + eye(5); printf("%.12g\n", det(A)); printf("%.12g ", A \ transpose(1:5)); disp("");
x = abs(fft(sin((1:64) / 3))); printf("%.9g ", x(1:8)); disp("");
S = sparse(diag(2 * ones(1, 40)) - diag(ones(1, 39), 1) - diag(ones(1, 39), -1));
printf("%.12g ", (S \ ones(40, 1))(1:5)); disp(""); disp(amd(S)(1:6)); [Q, R] = qr(A); printf("%.9g\n", norm(Q * R - A) < 1e-9);
disp(regexprep("fused libraries", "(\\w+) (\\w+)", "$2 $1")); v = fzero(@(x) cos(x) - x, 1); printf("%.10f\n", v);
imwrite(uint8(reshape(mod(0:9999, 256), 100, 100)), "out.png");'
