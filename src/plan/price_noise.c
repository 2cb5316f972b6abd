/* Random numbers that depend on nothing but what they are for, and the few functions of real
 * numbers that noise needs, written out so that every machine and C library gives the same bits. */
#include "plan/price_state.h"

static uint64_t mixed(uint64_t x) { /* splitmix64's finisher (Steele, Lea, Flood 2014) */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t price_mix(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    return mixed(mixed(mixed(mixed(seed) ^ a) ^ b) ^ c);
}

double price_uniform(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    return ((double)(price_mix(seed, a, b, c) >> 12) + 0.5) * 0x1p-52;
}

/* ln x, x > 0: x = m 2^e with m in [0.7, 1.4], ln m = 2 artanh((m - 1) / (m + 1)). */
static double logarithm(double x) {
    int e = 0;
    while (x > 1.4142135623730951)
        x *= 0.5, e++;
    while (x < 0.7071067811865476)
        x *= 2, e--;
    double y = (x - 1) / (x + 1), square = y * y, term = y, sum = 0;
    for (int k = 1; k < 40; k += 2, term *= square)
        sum += term / k;
    return 2 * sum + e * 0.6931471805599453;
}

/* e^x: halved until small, Taylor, squared back. */
static double exponential(double x) {
    int halvings = 0;
    while (x > 0.5 || x < -0.5)
        x *= 0.5, halvings++;
    double term = 1, sum = 1;
    for (int k = 1; k < 18; k++)
        sum += term *= x / k;
    while (halvings--)
        sum *= sum;
    return sum;
}

double price_exponential(double uniform) {
    return -logarithm(uniform);
}

/* A normal number from two uniform ones: polar form would reject, so Box and Muller's, with the
 * cosine by its series. */
double price_lognormal(double sigma, double u1, double u2) {
    double square = -2 * logarithm(u1), root = square > 1 ? square : 1;
    for (int i = 0; i < 60; i++)
        root = 0.5 * (root + square / root); /* Newton; 60 steps reach any double */
    double angle = (u2 - 0.5) * 6.283185307179586, term = 1, cosine = 1;
    for (int k = 1; k < 20; k++)
        cosine += term *= -angle * angle / ((2 * k - 1) * (2 * k));
    return exponential(sigma * root * cosine - 0.5 * sigma * sigma);
}
