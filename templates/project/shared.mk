shared: lib@NAME@.so
lib@NAME@.so: $(OBJECTS) @NAME@.map
	$(LINK) -shared $(OBJECTS) -Xlinker --version-script=$(filter %.map,$^) -Xlinker -soname=$@ $(LDFLAGS) $(LDLIBS) -o $@

prefix ?= /usr/local
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
datadir ?= $(prefix)/share
INSTALL ?= install
HEADERS = @HEADERS@
DATA = @DATA@
install: lib@NAME@.a lib@NAME@.so $(HEADERS) $(DATA) @NAME@.pc.in
	$(INSTALL) -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir)/@NAME@ $(DESTDIR)$(datadir)/@NAME@
	$(INSTALL) -m 644 lib@NAME@.a $(DESTDIR)$(libdir)
	$(INSTALL) lib@NAME@.so $(DESTDIR)$(libdir)
	$(INSTALL) -m 644 $(filter %.h %.hpp,$^) $(DESTDIR)$(includedir)/@NAME@
	$(INSTALL) -m 644 $(filter %.json %.bin %.py,$^) $(DESTDIR)$(datadir)/@NAME@
	sed -e 's|@prefix@|$(prefix)|' -e 's|@libdir@|$(libdir)|' -e 's|@includedir@|$(includedir)|' \
	  -e 's|@datadir@|$(datadir)|' $(filter %.in,$^) >$(DESTDIR)$(libdir)/pkgconfig/@NAME@.pc
uninstall:
	rm -f $(DESTDIR)$(libdir)/lib@NAME@.a $(DESTDIR)$(libdir)/lib@NAME@.so $(DESTDIR)$(libdir)/pkgconfig/@NAME@.pc
	rm -rf $(DESTDIR)$(includedir)/@NAME@ $(DESTDIR)$(datadir)/@NAME@
