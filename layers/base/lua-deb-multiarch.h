/* Modules in C are in /usr/lib/lua/5.4 of an image. */
#define DEB_HOST_MULTIARCH "."
