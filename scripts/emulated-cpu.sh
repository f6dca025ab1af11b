#!/usr/bin/env bash
# Runs a statically linked program of C++ unit tests on an emulated processor with AVX-512 IFMA, and exits with
# its status.
#
#   scripts/emulated-cpu.sh PROGRAM [ARGUMENTS]
#
# Bochs (its Ice Lake model) boots a Debian kernel from a small disk image; the first process is a shell that
# runs the program. The serial console goes to standard output. The time limit is in EMULATED_CPU_SECONDS.
# Needs root on Debian or Ubuntu for what is missing: bochs, syslinux, mtools, busybox, a kernel package (unpacked,
# not installed). No network otherwise.
set -euo pipefail

program=$(realpath "$1")
shift
arguments=$(printf ' %q' "$@")
limit=${EMULATED_CPU_SECONDS:-300}
cd "$(dirname "$0")/.."
work=$PWD/target/cpp-tests/emulated-cpu
mkdir -p "$work"

install_tools() {
    local tool missing=()
    for tool in bochs:bochs syslinux:syslinux mformat:mtools busybox:busybox-static; do
        command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
    done
    [ -e /usr/share/bochs/BIOS-bochs-latest ] || missing+=(bochsbios)
    compgen -G '/usr/lib/*/bochs/plugins/libbx_term_gui.so' >/dev/null || missing+=(bochs-term)
    ((${#missing[@]})) || return 0
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# The newest cloud kernel of the distribution, as target/cpp-tests/emulated-cpu/vmlinuz.
fetch_kernel() {
    [ -s "$work/vmlinuz" ] && return
    local package
    package=$(apt-cache depends --important linux-image-cloud-amd64 2>/dev/null | sed -n 's/^ *Depends: //p' | head -1)
    if [ -z "$package" ]; then
        apt-get update -qq
        package=$(apt-cache depends --important linux-image-cloud-amd64 | sed -n 's/^ *Depends: //p' | head -1)
    fi
    rm -rf "$work/package"
    mkdir "$work/package"
    (cd "$work/package" && apt-get download -qq "$package" 2>/dev/null && dpkg-deb -x ./*.deb .)
    cp "$work"/package/boot/vmlinuz-* "$work/vmlinuz"
    rm -rf "$work/package"
}

# The first process runs the tests; the last line it writes is their status.
pack_initramfs() {
    local root=$work/root
    rm -rf "$root"
    mkdir -p "$root/proc" "$root/dev"
    cp "$(command -v busybox)" "$root/busybox"
    strip -o "$root/tests" "$program"
    cat >"$root/init" <<INIT
#!/busybox sh
/busybox mount -t proc proc /proc
if /busybox grep -q -w avx512ifma /proc/cpuinfo; then
    export FOREBAY_TEST_QUICK=1 FOREBAY_TEST_WITHOUT_ADX=1 FOREBAY_TEST_KERNELS=${FOREBAY_TEST_KERNELS:-ifma}
    echo "tests start"
    /tests$arguments
    echo "tests ended with status \$?"
else
    echo "the emulated processor has no avx512ifma"
    echo "tests ended with status 1"
fi
/busybox sleep 1000
INIT
    chmod +x "$root/init"
    (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/initramfs"
}

# What Bochs 2.7 lacks or makes slow is switched off. 321, 323 and 515 are XSAVEC, XSAVES and protection keys: the
# sizes in CPUID are wrong, so that the kernel would disable AVX-512. 580 is FSRM: the kernel takes it for ERMS, which
# this processor has disabled, and its memmove then writes beyond the end.
kernel_arguments="console=ttyS0,115200 quiet rdinit=/init clearcpuid=321,323,515,580 nokaslr mitigations=off panic=-1
    tsc=reliable lpj=1000000 cryptomgr.notests audit=0 edd=off lsm="

make_disk() {
    local image=$work/disk.img cylinders=130 heads=16 sectors=63
    rm -f "$image" "$image.lock"
    truncate -s $((cylinders * heads * sectors * 512)) "$image"
    mformat -i "$image" -h $heads -s $sectors -t $cylinders -H 0 ::
    printf 'DEFAULT tests\nPROMPT 0\nLABEL tests\nKERNEL vmlinuz\nINITRD initramfs\nAPPEND %s\n' \
        "$(echo $kernel_arguments)" >"$work/syslinux.cfg"
    mcopy -i "$image" "$work/vmlinuz" "$work/initramfs" "$work/syslinux.cfg" ::
    syslinux --install "$image"
    cat >"$work/bochsrc" <<BOCHS
config_interface: textconfig
display_library: term
cpu: model=corei7_icelake_u, count=1, ips=400000000, reset_on_triple_fault=0
memory: guest=256, host=256
romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=disk, path=$image, mode=flat, cylinders=$cylinders, heads=$heads, spt=$sectors
boot: disk
com1: enabled=1, mode=file, dev=$work/serial.txt
log: $work/bochs.log
panic: action=fatal
error: action=ignore
info: action=ignore
clock: sync=none
BOCHS
    # Debian's Bochs has the debugger built in, which waits for a command.
    echo continue >"$work/debugger"
}

# Shows the console until the tests have ended; returns their status.
run() {
    local emulator shown=0 size status
    : >"$work/serial.txt"
    TERM=linux bochs-bin -q -f "$work/bochsrc" -rc "$work/debugger" </dev/null >"$work/screen.txt" 2>&1 &
    emulator=$!
    trap 'kill -KILL '$emulator' 2>/dev/null || true' EXIT
    while kill -0 $emulator 2>/dev/null; do
        sleep 0.3
        size=$(stat -c %s "$work/serial.txt")
        if ((size > shown)); then
            tail -c +$((shown + 1)) "$work/serial.txt" | head -c $((size - shown))
            shown=$size
        fi
        if [ -z "$booted" ] && grep -q '^tests start' "$work/serial.txt"; then booted=$SECONDS; fi
        status=$(sed -n 's/^tests ended with status \([0-9]*\)\r*$/\1/p' "$work/serial.txt")
        processor_time=$(awk '{ print int(($14 + $15) / 100) }' "/proc/$emulator/stat" 2>/dev/null || true)
        [ -z "$status" ] || return "$status"
        if ((SECONDS > limit)); then
            echo "no result within $limit s" >&2
            return 124
        fi
    done
    echo "the emulator ended without a result; its log is $work/bochs.log" >&2
    return 1
}

install_tools
fetch_kernel
pack_initramfs
make_disk
SECONDS=0
status=0 booted='' processor_time=''
run || status=$?
echo "booted in ${booted:-?} s; $SECONDS s in all, ${processor_time:-?} s of them on this machine's processor"
exit $status
