/** Commands of the documentation that the test of all commands does not run. */
interface Exception {
  /** The page, from `docs/`. */
  readonly page: string
  /** How the command begins; '' for all of the page. */
  readonly begins: string
  /** Why not, and which test runs it or its like. */
  readonly why: string
}

const HARDWARE = 'needs a core in containers, which real-core.test runs'
const RUNNING = 'needs a core that runs; adopt-core.test has programs of its names'
const THEIRS = 'needs files of a core that the service did not write; foreign-core.test has such'
const TWO_BOXES = 'needs two boxes with TLS, which mesh.test and mesh-lifecycle.test run'
const ROOTS = 'needs a root that moves or is lost, which mesh-faults.test has'
const PERSON = 'waits for what a person types'

/** All of them. Whoever adds one says why. */
export const EXCEPTIONS: readonly Exception[] = [
  { page: 'builds.md', begins: '', why: 'makes whole builds, which build.test and build-parts.test do' },
  {
    page: 'packages.md',
    begins: '',
    why: 'installs on a machine, which real-packages.test does in a bare Debian',
  },
  {
    page: 'how-to/whole-box.md',
    begins: '',
    why: 'installs a core, which this repository does not have; docs/reference/compatibility.md says when it was followed by hand',
  },
  {
    page: 'how-to/upgrade.md',
    begins: '',
    why: 'upgrades a package and goes back, which real-upgrade.test does with these very commands',
  },
  {
    page: 'monitoring/README.md',
    begins: '',
    why: 'installs Prometheus; monitoring.test runs it with these files',
  },
  {
    page: 'how-to/reverse-proxy.md',
    begins: '',
    why: 'installs nginx; reverse-proxies.test runs it with these files',
  },
  {
    page: 'how-to/alerts.md',
    begins: 'SECRET_FILE=',
    why: 'a program that runs on; alerts-receivers.test has it with a relay',
  },
  {
    page: 'how-to/alerts.md',
    begins: 'svc alert receiver test maria',
    why: 'writes to Telegram; receivers.test has a service that answers as it does',
  },
  { page: 'how-to/backup.md', begins: 'svc backup --encrypt', why: `${PERSON}; backup.test gives a file` },
  {
    page: 'how-to/backup.md',
    begins: 'svc restore FILE --adopt',
    why: 'needs a second machine; backup.test has two nodes',
  },
  {
    page: 'how-to/compliance.md',
    begins: 'svc sim forget HASH --without-core',
    why: 'needs a core that is gone; compliance.test takes one away',
  },
  { page: 'how-to/core.md', begins: 'install -d -m 2750', why: HARDWARE },
  { page: 'how-to/core.md', begins: 'docker run -d --name mme', why: HARDWARE },
  { page: 'how-to/free5gc.md', begins: 'install -d /srv/steeple/cdr', why: HARDWARE },
  { page: 'how-to/free5gc.md', begins: 'docker run -d --name chf', why: HARDWARE },
  { page: 'how-to/core.md', begins: 'svc core adopt', why: RUNNING },
  { page: 'how-to/core.md', begins: 'svc core take-over', why: THEIRS },
  { page: 'how-to/core.md', begins: 'svc core restore-original', why: THEIRS },
  {
    page: 'how-to/esim-certificates.md',
    begins: 'svc esim certs import',
    why: 'needs certificates of a CI; esim-documented.test imports those of SGP.26 and goes on by the page',
  },
  {
    page: 'how-to/esim-certificates.md',
    begins: 'svc esim certs init',
    why: 'is needed before the first code: the test runs it before all pages',
  },
  {
    page: 'how-to/esim-orders.md',
    begins: 'es2 ',
    why: 'needs TLS under a public name; esim.test orders by ES2+',
  },
  {
    page: 'how-to/esim-real-phones.md',
    begins: 'svc esim provider',
    why: 'needs a provider, its key and its files; esim-providers.test orders from one',
  },
  {
    page: 'how-to/esim-real-phones.md',
    begins: 'openssl x509',
    why: 'needs the client certificate of a provider; notify-tls of esim-smdp has one',
  },
  {
    page: 'how-to/esim-real-phones.md',
    begins: 'svc esim mdm-list',
    why: 'needs codes of that batch; esim-providers.test takes them',
  },
  { page: 'how-to/mesh.md', begins: 'echo TOKEN | svc node join', why: TWO_BOXES },
  { page: 'how-to/mesh.md', begins: 'svc node leave', why: TWO_BOXES },
  { page: 'how-to/mesh.md', begins: 'svc node remove', why: TWO_BOXES },
  { page: 'how-to/mesh.md', begins: 'svc mesh invite', why: TWO_BOXES },
  { page: 'how-to/mesh.md', begins: 'svc mesh root-address', why: ROOTS },
  { page: 'how-to/mesh.md', begins: 'svc mesh take-root', why: ROOTS },
  {
    page: 'how-to/links.md',
    begins: 'svc peer',
    why: 'needs WireGuard and root; peers.test links two boxes',
  },
  { page: 'explanation/transport.md', begins: 'openssl s_client', why: TWO_BOXES },
  { page: 'explanation/transport.md', begins: 'curl --cacert', why: TWO_BOXES },
  {
    page: 'how-to/passkeys-and-certificates.md',
    begins: 'svc user cert',
    why: 'needs TLS; operator-certificates.test runs both',
  },
  {
    page: 'how-to/plugins.md',
    begins: '',
    why: 'signs and loads a built plugin; plugin-tutorials.test does on a box of its own, plugin-new.test for each kind',
  },
  {
    page: 'how-to/radio.md',
    begins: 'podman create',
    why: 'needs a radio in a container; the tests of driver-ran have one',
  },
  {
    page: 'how-to/core-systemd.md',
    begins: '',
    why: 'needs a core under systemd; real-systemd.test has units, and the page was followed with Open5GS',
  },
  {
    page: 'how-to/import.md',
    begins: 'svc sim foreign',
    why: 'needs the database of a core; adopt-http.long.test has one',
  },
  {
    page: 'how-to/import.md',
    begins: 'svc core release',
    why: 'shows and asks, which is no success, and ends the driving of the core that other pages need',
  },
  { page: 'how-to/import.md', begins: 'svc sim adopt', why: 'as svc sim foreign' },
  {
    page: 'how-to/radio-external.md',
    begins: '',
    why: 'needs a cell with a switch, which external.e2e.test and switches.e2e.test of driver-ran stand in for',
  },
  {
    page: 'how-to/import.md',
    begins: 'mongoexport',
    why: 'the exporter of a MongoDB; driver-hss reads what it writes',
  },
  { page: 'how-to/radio.md', begins: 'svc tx arm mast', why: 'needs a licence and a radio, as the dry run' },
  {
    page: 'how-to/radio.md',
    begins: 'svc tx profile dry-run',
    why: 'needs a radio; disarm.test arms and disarms stand-ins',
  },
  {
    page: 'how-to/write-cards.md',
    begins: '',
    why: 'installs pySim and writes cards; cards-http of card-writer has a stand-in, real-pysim the program',
  },
  { page: 'how-to/sims.md', begins: 'svc sim find -', why: PERSON },
  {
    page: 'tutorials/first-ten-minutes.md',
    begins: '',
    why: 'goes on from block to block: first-ten-minutes.test',
  },
  { page: 'tutorials/core-driver.md', begins: '', why: 'goes on from block to block: plugin-tutorials.test' },
  { page: 'tutorials/hss-driver.md', begins: '', why: 'goes on from block to block: plugin-tutorials.test' },
]

/** Commands that say no by exit code 1, which is an answer. */
export const MAY_SAY_NO: readonly string[] = ['svc sim why', 'svc doctor']
