/* Whole numbers of 128 bits, and powers of ten with as many: what numbers of up to 38 digits are calculated with. */
typedef unsigned __int128 Wide;

#define WIDE(high, low) ((Wide)(high) << 64 | (low))

static int
leading_zeros(Wide number)
{
  const uint64_t high = (uint64_t)(number >> 64);
  return high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)number);
}

/* The upper half of the product. */
static Wide
multiply_high(Wide one, Wide other)
{
  const uint64_t a = (uint64_t)(one >> 64), b = (uint64_t)one, c = (uint64_t)(other >> 64), d = (uint64_t)other;
  const Wide ad = (Wide)a * d, bc = (Wide)b * c;
  const Wide middle = ((Wide)b * d >> 64) + (uint64_t)ad + (uint64_t)bc;
  return (Wide)a * c + (ad >> 64) + (bc >> 64) + (middle >> 64);
}

/* A number that is known but for its last bits: at least `bits` times two to the power of `exponent`, and less than
 * `bits` + SLACK. The highest of the 128 bits is set. */
typedef struct {
  Wide bits;
  int exponent;
} Near;

/* What rounding down takes away at most, as parts of 2^127: each power of five below 1, each product 2, and the digits
 * behind the 38th 18 (10^-37). That makes 25, which are 50 units of the last bit. */
enum { SLACK = 64 };

static Near
normal(Wide bits, int exponent)
{
  const int zeros = leading_zeros(bits);
  return (Near){ bits << zeros, exponent - zeros };
}

/* The logarithm of 5^power to the base of 2, rounded down, for the powers below. */
static int
bits_of_five(int power)
{
  return (int)(power * 9972605231 >> 32);
}

/* 5^0 to 5^26, each shifted up until its highest bit is set. */
static const uint64_t single[] = {
  0x8000000000000000, 0xa000000000000000, 0xc800000000000000, 0xfa00000000000000, 0x9c40000000000000, 0xc350000000000000,
  0xf424000000000000, 0x9896800000000000, 0xbebc200000000000, 0xee6b280000000000, 0x9502f90000000000, 0xba43b74000000000,
  0xe8d4a51000000000, 0x9184e72a00000000, 0xb5e620f480000000, 0xe35fa931a0000000, 0x8e1bc9bf04000000, 0xb1a2bc2ec5000000,
  0xde0b6b3a76400000, 0x8ac7230489e80000, 0xad78ebc5ac620000, 0xd8d726b7177a8000, 0x878678326eac9000, 0xa968163f0a57b400,
  0xd3c21bcecceda100, 0x84595161401484a0, 0xa56fa5b99019a5c8
};
/* 5^0, 5^27, 5^54, ... and 5^(864 * -6), 5^(864 * -5), ..., shifted and rounded down. */
static const Wide of_27[] = {
  WIDE(0x8000000000000000, 0x0000000000000000), WIDE(0xcecb8f27f4200f3a, 0x0000000000000000),
  WIDE(0xa70c3c40a64e6c51, 0x999090b65f67d924), WIDE(0x86f0ac99b4e8dafd, 0x69a028bb3ded71a3),
  WIDE(0xda01ee641a708de9, 0xe80e6f4820cc9495), WIDE(0xb01ae745b101e9e4, 0x5ec05dcff72e7f8f),
  WIDE(0x8e41ade9fbebc27d, 0x14588f13be847307), WIDE(0xe5d3ef282a242e81, 0x8f1668c8a86da5fa),
  WIDE(0xb9a74a0637ce2ee1, 0x6d953e2bd7173692), WIDE(0x95f83d0a1fb69cd9, 0x4abdaf101564f98e),
  WIDE(0xf24a01a73cf2dccf, 0xbc633b39673c8cec), WIDE(0xc3b8358109e84f07, 0x0a862f80ec4700c8),
  WIDE(0x9e19db92b4e31ba9, 0x6c07a2c26a8346d1), WIDE(0xff6d0b3492801150, 0x9798278aea58efff),
  WIDE(0xce54d951f70637d5, 0x34a44c6fe697a290), WIDE(0xa6ac5789e1da7d57, 0xf33565b6f98557b1),
  WIDE(0x86a3364ea62c672c, 0xd76d70b23d7ab65a), WIDE(0xd984c8d3115a426b, 0xab5d542942f2f0d5),
  WIDE(0xafb5cf88362bafd0, 0xb5e6504852f42e70), WIDE(0x8df0046d27c91b1c, 0x3fbf59b4f5b2379b),
  WIDE(0xe550008523ed219a, 0xe15cf9beebd044de), WIDE(0xb93cb71706a3b990, 0xd119951dcbacc155),
  WIDE(0x95a2260f89c4d57b, 0x81624514b014ee42), WIDE(0xf1beebc339accd47, 0x2703188c5b07fb0b),
  WIDE(0xc347db4b6c88001f, 0xd94035b4bffd40c3), WIDE(0x9dbf19a533cefbab, 0xfbdd0be7ed786de0),
  WIDE(0xfeda6ac5471d72f0, 0x25fc7fee530bb131), WIDE(0xcdde67a1319ba5d8, 0x95deab11265e66ae),
  WIDE(0xa64ca9df3fd42cf6, 0x8f96bee42fda4243), WIDE(0x8655ec7b208bd47a, 0x7d90849c966e61f2),
  WIDE(0xd907eb19203bb3d9, 0x03cb93d1c8dd139a), WIDE(0xaf50f1d2f05b2ddf, 0x79211e057260d9f8)
};
static const Wide of_864[] = {
  WIDE(0x8b8fb786463a2193, 0x47ecd462b80ebecd), WIDE(0x9a692bd43b368fc3, 0x8389c148c919653a),
  WIDE(0xaad71a5aab16dc6c, 0x5086fdecf2f641c6), WIDE(0xbd048c7daf8acadb, 0x9736b4514993e0ba),
  WIDE(0xd1211fe37ac6a148, 0x0fc4eafedd191926), WIDE(0xe761832efdc06462, 0x07cd71a4ad11c394),
  WIDE(0x8000000000000000, 0x0000000000000000), WIDE(0x8d9e89d11346bda5, 0x7e289e1eabe77166),
  WIDE(0x9cb00bfd6f025339, 0x2e61aa868501e740), WIDE(0xad5bff3854ff2560, 0x2ab1aa038b8d63a1),
  WIDE(0xbfce0f5ab8a6761d, 0xda1276a2f5debc0b), WIDE(0xd4368dc8bb2a0e80, 0x75a77a3b0bc28f4d)
};
enum { OF_27 = 27, OF_864 = 864, LOWEST_OF_864 = -6, LOWEST_POWER = OF_864 * LOWEST_OF_864, HIGHEST_POWER = -LOWEST_POWER - 1 };

/* 10^power, for LOWEST_POWER to HIGHEST_POWER. */
static Near
power_of_ten(int power)
{
  const int from_lowest = power - LOWEST_POWER;
  const int large = from_lowest / OF_864 + LOWEST_OF_864, rest = from_lowest % OF_864;
  const int middle = rest / OF_27, small = rest % OF_27;
  const Wide five = of_27[middle];
  const Wide product = (Wide)(uint64_t)(five >> 64) * single[small] + ((Wide)(uint64_t)five * single[small] >> 64);
  Near found = normal(product, bits_of_five(middle * OF_27) + bits_of_five(small) - 126 + power);
  if (large != 0)
    found = normal(multiply_high(found.bits, of_864[large - LOWEST_OF_864]),
                   found.exponent + bits_of_five(large * OF_864) + 1);
  return found;
}

/* number * 10^power; `number` is not 0. */
static Near
scaled(Wide number, int power)
{
  const Near ten = power_of_ten(power), itself = normal(number, 0);
  return normal(multiply_high(itself.bits, ten.bits), itself.exponent + ten.exponent + 128);
}
