# `./dev package`: makes what is handed out, below $build/package. Read by dev, whose step, packages and die it uses.
packed=$build/package
release=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)

pack_deb() {
    local tree=$packed/deb/gcc2nn-$release
    # shellcheck disable=SC2086
    packages package $libraries build-essential debhelper python3 || die "cannot build a package without these"
    rm -rf "$packed/deb"
    mkdir -p "$tree"
    tar -c --exclude-vcs --exclude=./.venv --exclude=./.cache --exclude='./builddir*' . | tar -x -C "$tree"
    cp -r templates/packaging/debian "$tree/debian"
    cat LICENSE >>"$tree/debian/copyright"
    python3 templates/packaging/debian_changelog.py CHANGELOG.md templates/packaging/debian/control >"$tree/debian/changelog"
    step deb "building $packed/deb/*.deb" sh -c 'cd "$0" && dpkg-buildpackage -us -uc' "$tree"
}

static_files=--native-file=$root/templates/packaging/static.ini
pack_static() {
    local name
    name=gcc2nn-$release-linux-$(uname -m)
    # shellcheck disable=SC2086
    packages build $libraries gcc g++ || die "cannot build without these packages"
    [ -f builddir-static/build.ninja ] ||
        step static-meson "configuring builddir-static" meson setup builddir-static "$static_files"
    step static-ninja "building builddir-static" ninja -C builddir-static
    rm -rf "${packed:?}/$name"
    step static-install "$packed/$name.tar.xz" meson install -C builddir-static --tags bin,man,completions --destdir "$root/$packed/$name"
    cp LICENSE CHANGELOG.md "$packed/$name"
    tar -C "$packed" -cJf "$packed/$name.tar.xz" --owner=0 --group=0 --sort=name "$name"
}

# With the static program, so that one wheel is for every Linux. pip brings a meson of its own, hence the folder of its own.
pack_wheel() {
    local venv=$packed/venv platform
    # shellcheck disable=SC2086
    packages build $libraries gcc g++ python3-venv || die "cannot build without these packages"
    platform=$(uname -m)
    platform=manylinux_2_17_$platform.musllinux_1_1_$platform
    wheel() {
        rm -rf "$packed/wheel" && mkdir -p "$packed/wheel" && python3 -m venv --clear "$venv" &&
            "$venv/bin/pip" install --disable-pip-version-check wheel &&
            "$venv/bin/pip" wheel --disable-pip-version-check --no-deps -w "$packed/wheel" . -Cbuild-dir=builddir-wheel \
                "-Csetup-args=$static_files" &&
            "$venv/bin/wheel" tags --remove --platform-tag "$platform" "$packed"/wheel/*.whl
    }
    step wheel "building $packed/wheel/*.whl" wheel
}

package() {
    local kind kinds=() test=
    for kind in "$@"; do
        case $kind in
        deb | static | wheel) kinds+=("$kind") ;;
        --test) test=1 ;;
        *) die "package: unknown argument $kind" ;;
        esac
    done
    [ ${#kinds[@]} != 0 ] || kinds=(static wheel deb)
    for kind in "${kinds[@]}"; do "pack_$kind"; done
    [ -n "$test" ] || return 0
    packages package lintian debootstrap || echo "going on: tests that need these say that they are skipped"
    python3 tests/install/packages "$packed" "${kinds[@]}"
}
