/* Words that cannot be the name of a program, because that becomes a type and the names of files. See program.h. */
#include "codegen/program.h"
#include <string.h>
#include <strings.h>

/* Words used by what is printed beside a program: parameters and variables of its API, prefixes, files, functions; and
 * names reserved by CMake, Meson and Cargo. */
static const char *const beside[] = {
    " m in out io nn bench count cuda_emu selftest semihost startup config error given number context inputs results ",
    " symbols size over status axis s t d build cargo makefile ",
    " all benchmark clean coverage dist distcheck edit_cache help install package package_source phony preinstall ",
    " rebuild_cache reconfigure test uninstall ",
    " by_time fail find_symbols plan read_tensor run set_symbol write_tensor no_room aligned_alloc clock_gettime ",
    NULL,
};

/* Headers, functions, structures and macros of C and POSIX, and those that GNU declares without being asked; only those
 * without `_`, since others are unlikely names of models. A program with such a name would not compile: `typedef struct
 * {...} clock;`, or `#include <features.h>` with the folder in the include path. */
static const char *const of_the_library[] = {
    " a64l abort abs accept access acct acos acosf acosh acoshf acoshl acosl addrinfo adjtime aio aiocb alarm ",
    " aliases alloca alphasort and arc4random asctime asin asinf asinh asinhf asinhl asinl assert atan atan2 atan2f ",
    " atan2l atanf atanh atanhf atanhl atanl atexit atof atoi atol atoll basename bcmp bcopy be16toh be32toh be64toh ",
    " bind bindresvport bindresvport6 bitand bitor bool brk bsearch btowc byteswap bzero cabs cabsf cabsl cacos ",
    " cacosf cacosh cacoshf cacoshl cacosl calloc carg cargf cargl casin casinf casinh casinhf casinhl casinl catan ",
    " catanf catanh catanhf catanhl catanl cbrt cbrtf cbrtl ccos ccosf ccosh ccoshf ccoshl ccosl ceil ceilf ceill ",
    " cexp cexpf cexpl chdir chmod chown chroot cimag cimagf cimagl clearenv clearerr clock clog clogf clogl close ",
    " closedir closefrom cmsghdr compl complex confstr conj conjf conjl connect copysign copysignf copysignl cos ",
    " cosf cosh coshf coshl cosl cpow cpowf cpowl cproj cprojf cprojl cpuid creal crealf creall creat crypt csin ",
    " csinf csinh csinhf csinhl csinl csqrt csqrtf csqrtl ctan ctanf ctanh ctanhf ctanhl ctanl ctermid ctime ctype ",
    " daemon daylight devctl difftime dirent dirfd dirname div dlclose dlerror dlfcn dlopen dlsym dprintf drand48 ",
    " drem dremf dreml dup dup2 duplocale dysize ecvt endhostent endian endnetent endnetgrent endprotoent endrpcent ",
    " endservent endusershell environ erand48 erf erfc erfcf erfcl erff erfl errno error execinfo execl execle ",
    " execlp execv execve execvp exit exp exp2 exp2f exp2l expf expl expm1 expm1f expm1l fabs fabsf fabsl faccessat ",
    " false fchdir fchmod fchmodat fchown fchownat fclose fcntl fcvt fdatasync fdim fdimf fdiml fdopen fdopendir ",
    " features feclearexcept fegetenv fegetexceptflag fegetround feholdexcept fenv feof feraiseexcept ferror ",
    " fesetenv fesetexceptflag fesetround fetestexcept feupdateenv fexecve fflush ffs ffsl ffsll fgetc fgetpos fgets ",
    " fgetwc fgetws fileno finite finitef finitel float flock flockfile floor floorf floorl fma fmaf fmal fmax fmaxf ",
    " fmaxl fmemopen fmin fminf fminl fmod fmodf fmodl fnmatch fopen fork fpathconf fpclassify fprintf fputc fputs ",
    " fputwc fputws fread free freeaddrinfo freelocale freopen frexp frexpf frexpl fscanf fseek fseeko fsetpos fstat ",
    " fstatat fsync ftell ftello ftruncate ftrylockfile ftw funlockfile futimens futimes fwide fwprintf fwrite ",
    " fwscanf gamma gammaf gammal gconv gcvt getaddrinfo getc getchar getcwd getdelim getdirentries getdomainname ",
    " getdtablesize getegid getentropy getenv geteuid getgid getgroups gethostbyaddr gethostbyname gethostbyname2 ",
    " gethostent gethostid gethostname getitimer getline getloadavg getlogin getnameinfo getnetbyaddr getnetbyname ",
    " getnetent getnetgrent getopt getpagesize getpass getpeername getpgid getpgrp getpid getppid getprotobyname ",
    " getprotobynumber getprotoent getrpcbyname getrpcbynumber getrpcent gets getservbyname getservbyport getservent ",
    " getsid getsockname getsockopt getsubopt gettimeofday getuid getusershell getw getwc getwchar getwd glob gmtime ",
    " grp gsignal herror hostent hstrerror htobe16 htobe32 htobe64 htole16 htole32 htole64 htonl htons hypot hypotf ",
    " hypotl iconv ifaddrs ilogb ilogbf ilogbl imaxabs imaxdiv index initstate innetgr inttypes ioctl iovec iruserok ",
    " isalnum isalpha isascii isatty isblank iscntrl isdigit isfdtype isfinite isgraph isgreater isgreaterequal ",
    " isinf isinff isinfl isless islessequal islessgreater islower isnan isnanf isnanl isnormal iso646 isprint ",
    " ispunct isspace isunordered isupper iswalnum iswalpha iswblank iswcntrl iswctype iswdigit iswgraph iswlower ",
    " iswprint iswpunct iswspace iswupper iswxdigit isxdigit itimerspec itimerval j0 j0f j0l j1 j1f j1l jn jnf jnl ",
    " jrand48 kill killpg l64a labs langinfo lchmod lchown lcong48 lconv ldexp ldexpf ldexpl ldiv le16toh le32toh ",
    " le64toh lgamma lgammaf lgammal libgen libintl limits linger link linkat linux listen llabs lldiv llrint ",
    " llrintf llrintl llround llroundf llroundl locale localeconv localtime lockf log log10 log10f log10l log1p ",
    " log1pf log1pl log2 log2f log2l logb logbf logbl logf logl longjmp lrand48 lrint lrintf lrintl lround lroundf ",
    " lroundl lseek lstat lutimes madvise malloc math mblen mbrlen mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs ",
    " mbtowc memccpy memchr memcmp memcpy memmove memory memset mincore mkdir mkdirat mkdtemp mkfifo mkfifoat mknod ",
    " mknodat mkstemp mkstemps mktemp mktime mlock mlockall mmap modf modff modfl monetary mprotect mqueue mrand48 ",
    " msghdr msync munlock munlockall munmap nan nanf nanl nanosleep nearbyint nearbyintf nearbyintl netdb netent ",
    " newlib newlocale nextafter nextafterf nextafterl nexttoward nexttowardf nexttowardl nice not nrand48 ntohl ",
    " ntohs offsetof open openat opendir optarg opterr optind optopt or osockaddr pathconf paths pause pclose perror ",
    " pipe poll pollfd popen pow powf powl pread printf profil protoent pselect psiginfo psignal pthread pty putc ",
    " putchar putenv puts putw putwc putwchar pwd pwrite qecvt qfcvt qgcvt qsort raise rand random rcmd read readdir ",
    " readlink readlinkat realloc reallocarray realpath recv recvfrom recvmsg reent regex regexp remainder ",
    " remainderf remainderl remove remquo remquof remquol rename renameat revoke rewind rewinddir rexec rindex rint ",
    " rintf rintl rmdir round roundf roundl rpcent rpmatch rresvport rusage ruserok sbrk scalb scalbf scalbl scalbln ",
    " scalblnf scalblnl scalbn scalbnf scalbnl scandir scanf sched search seed48 seekdir select semaphore send ",
    " sendmsg sendto servent setbuf setbuffer setdomainname setegid setenv seteuid setgid sethostent sethostid ",
    " sethostname setitimer setjmp setlinebuf setlocale setlogin setnetent setnetgrent setpgid setpgrp setprotoent ",
    " setregid setreuid setrpcent setservent setsid setsockopt setstate settimeofday setuid setusershell setvbuf ",
    " shutdown sigaction sigaddset sigaltstack sigblock sigcontext sigdelset sigemptyset sigevent sigfillset ",
    " siggetmask siginterrupt sigismember siglongjmp sigmask signal signbit signgam significand significandf ",
    " significandl sigpending sigprocmask sigqueue sigreturn sigsetjmp sigsetmask sigstack sigsuspend sigtimedwait ",
    " sigval sigwait sigwaitinfo sin sinf sinh sinhf sinhl sinl sleep snprintf sockaddr sockatmark socket socketpair ",
    " spawn sprintf sqrt sqrtf sqrtl srand srand48 srandom sscanf ssignal stat stdalign stdarg stdatomic stdbool ",
    " stddef stderr stdin stdint stdio stdlib stdnoreturn stdout stpcpy stpncpy strcasecmp strcat strchr strcmp ",
    " strcoll strcpy strcspn strdup strerror strftime string strings strlen strncasecmp strncat strncmp strncpy ",
    " strndup strnlen strpbrk strrchr strsep strsignal strspn strstr strtod strtof strtoimax strtok strtol strtold ",
    " strtoll strtoq strtoul strtoull strtoumax strtouq strxfrm swprintf swscanf symlink symlinkat sync syscall ",
    " sysconf syslimits syslog system tan tanf tanh tanhf tanhl tanl tcgetpgrp tcsetpgrp telldir tempnam termio ",
    " termios tgamma tgammaf tgammal tgmath threads time timegm timelocal timeradd timerclear timercmp timerisset ",
    " timersub timespec timeval timezone tm tmpfile tmpnam toascii tolower toupper towctrans towlower towupper true ",
    " trunc truncate truncf truncl ttyname ttyslot tzname tzset ualarm uchar ucontext ulimit umask ungetc ungetwc ",
    " unistd unix unlink unlinkat unsetenv unwind uselocale usleep utime utimensat utimes valloc values vdprintf ",
    " vfork vfprintf vfscanf vfwprintf vfwscanf vhangup vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf ",
    " vwprintf vwscanf wait wait3 wait4 waitid waitpid wchar wcpcpy wcpncpy wcrtomb wcscasecmp wcscat wcschr wcscmp ",
    " wcscoll wcscpy wcscspn wcsdup wcsftime wcslen wcsncasecmp wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs wcspbrk ",
    " wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul ",
    " wcstoull wcstoumax wcsxfrm wctob wctomb wctrans wctype winsize wmemchr wmemcmp wmemcpy wmemmove wmemset ",
    " wordexp wprintf write wscanf xor y0 y0f y0l y1 y1f y1l yn ynf ynl ",
    NULL,
};

/* Ignores case: some file systems do. */
static bool has(const char *const *lines, const char *word) {
    size_t n = strlen(word);
    for (; *lines; lines++)
        for (const char *at = *lines; at[1]; at = strchr(at + 1, ' '))
            if (!strncasecmp(at + 1, word, n) && at[n + 1] == ' ') return true;
    return false;
}
bool program_name_taken(const char *s) { return has(beside, s) || has(of_the_library, s) || !strncasecmp(s, "io_", 3); }
