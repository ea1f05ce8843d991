/* Preloaded into a program and all that it starts: whoever connects to another host, or looks one up, is written down and aborted. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void stop(const char *what) {
    const char *path = getenv("LOOPBACK_ONLY_LOG");
    int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (log >= 0) {
        if (write(log, what, strlen(what)) < 0 || write(log, "\n", 1) < 0) {
            _exit(99);
        }
    }
    abort();
}

static void check(const struct sockaddr *to) {
    char text[INET6_ADDRSTRLEN] = "";
    if (to && to->sa_family == AF_INET) {
        const struct in_addr *address = &((const struct sockaddr_in *)to)->sin_addr;
        inet_ntop(AF_INET, address, text, sizeof text);
        if (ntohl(address->s_addr) >> 24 != 127) stop(text);
    }
    if (to && to->sa_family == AF_INET6) {
        const struct in6_addr *address = &((const struct sockaddr_in6 *)to)->sin6_addr;
        inet_ntop(AF_INET6, address, text, sizeof text);
        if (!IN6_IS_ADDR_LOOPBACK(address)) stop(text);
    }
}

int connect(int socket, const struct sockaddr *to, socklen_t length) {
    check(to);
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    return real(socket, to, length);
}

ssize_t sendto(int socket, const void *bytes, size_t count, int flags, const struct sockaddr *to, socklen_t length) {
    check(to);
    ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "sendto");
    return real(socket, bytes, count, flags, to, length);
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out) {
    if (host && strcmp(host, "127.0.0.1") && strcmp(host, "::1") && strcmp(host, "localhost")) stop(host);
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(host, service, hints, out);
}
