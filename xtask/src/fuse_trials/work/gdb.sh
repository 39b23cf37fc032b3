cat > a.cc <<'C'
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
std::map<std::string, std::vector<int>> table{{"one", {1}}, {"two", {2, 2}}};
static int at(const std::string &key) { if (key == "three") throw std::out_of_range(key); return table[key].back(); }
int main() { int sum = 0; for (auto key : {"one", "two", "three"}) try { sum += at(key); } catch (std::exception &) { sum *= 10; } return sum; }
C
g++ -g -O0 -o a a.cc
"$P" -q -nx -batch -ex 'catch throw' -ex run -ex bt -ex up -ex up -ex 'print key' -ex 'print sum' -ex 'print table' -ex 'python print(sum(range(5)))' \
  -ex 'disassemble main,+16' -ex continue ./a 2>&1 | sed 's/process [0-9]*/process N/' > session.txt
grep -q 'process N) exited with code 036' session.txt
rm a
