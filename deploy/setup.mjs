// Sets up what is missing before `npm start` and, with --test, before `npm test`: node_modules, a current
// Node.js (it comes with node_modules), redis-server, and the programs that tests use. Runs by any Node.js
// from 20 on, before anything is installed, so it depends on nothing. Quick when there is nothing to do.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const modules = join(root, 'node_modules')
/** Debian's syslog-ng conflicts with its rsyslog: it is not installed, but unpacked here. */
const syslogNg = join(modules, '.cache', 'syslog-ng')
const stampFile = join(modules, '.tailrace-setup.json')
const forTests = process.argv.includes('--test')
const inCi = !['', '0', 'false', undefined].includes(process.env.CI?.toLowerCase())
/** What could not be installed is not tried again at every run: updating the package lists takes a while. */
const retryAfterMs = 24 * 3_600_000

const programs = [
  { name: 'redis-server', packages: ['redis-server'], required: true, missing: () => !findProgram('redis-server') },
  ...(forTests
    ? [
        { name: 'openssl', packages: ['openssl'], missing: () => !findProgram('openssl') },
        { name: 'rsyslogd', packages: ['rsyslog'], missing: () => !findProgram('rsyslogd') },
        { name: 'rsyslog with TLS', packages: ['rsyslog-gnutls'], missing: () => !hasRsyslogModule('lmnsd_gtls.so') },
        { name: 'rsyslog with RELP', packages: ['rsyslog-relp'], missing: () => !hasRsyslogModule('imrelp.so') },
        {
          name: 'syslog-ng',
          packages: ['syslog-ng-core'],
          unpackTo: syslogNg,
          missing: () => !isExecutable(join(syslogNg, 'usr', 'sbin', 'syslog-ng')),
        },
        { name: 'lognormalizer', packages: ['liblognorm-utils'], missing: () => !findProgram('lognormalizer') },
        { name: 'kcat', packages: ['kcat'], missing: () => !findProgram('kcat') },
        { name: 'nginx', packages: ['nginx-light'], missing: () => !findProgram('nginx') },
        { name: 'promtool', packages: ['prometheus'], missing: () => !findProgram('promtool') },
      ]
    : []),
  // Large, so not on a person's machine unasked: the test in the browser is skipped without one.
  ...(forTests && inCi ? [{ name: 'chromium', packages: ['chromium'], missing: () => !findBrowser() }] : []),
]

setUpModules()
setUpPrograms()

function setUpModules() {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const hash = createHash('sha256').update(lock).update(`${process.platform}-${process.arch}`).digest('hex')
  if (readStamp().lock !== hash || !existsSync(join(modules, '.package-lock.json'))) {
    if (!matchesLock(JSON.parse(lock))) installModules()
    writeStamp({ lock: hash })
  }
  const needed = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node.replace(/^\D*/, '')
  const own = join(modules, '.bin', 'node')
  if (existsSync(own) || isAtLeast(process.versions.node, needed)) return
  fail(
    `Node.js ${needed} or newer is needed; this is ${process.versions.node}, and there is no ready-made one for ` +
      `${process.platform} on ${process.arch}. Install it by other means.`,
  )
}

/** Whether what was installed last is what the lock file says: npm keeps a copy of what it did. */
function matchesLock(lock) {
  const file = join(modules, '.package-lock.json')
  if (!existsSync(file)) return false
  const installed = JSON.parse(readFileSync(file, 'utf8')).packages
  const { '': _, ...wanted } = lock.packages
  // Optional packages are for one platform each, some of them for one C library; the one for ours must be there.
  const fits = (list, value) => [list ?? []].flat().includes(value)
  const skipped = ({ optional, os, cpu, libc }) =>
    optional && !(fits(os, process.platform) && fits(cpu, process.arch) && fits(libc ?? 'glibc', 'glibc'))
  const agrees = ([path, entry]) =>
    installed[path] ? installed[path].integrity === entry.integrity && existsSync(join(root, path)) : skipped(entry)
  return Object.entries(wanted).every(agrees) && Object.keys(installed).every((path) => path in wanted)
}

function installModules() {
  say('npm ci')
  // Started by npm: the same one again.
  const cli = process.env.npm_execpath?.endsWith('.js') ? process.env.npm_execpath : undefined
  const options = ['--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error']
  const help = 'Is the registry reachable? `npm ci` says more.'
  const npm = cli ? [process.execPath, cli] : ['npm']
  run([...npm, 'ci', ...options], `npm ci did not work. ${help}`)
  const own = join(modules, '.bin', 'node')
  if (!existsSync(own)) return
  if (spawnSync(own, ['--version']).status !== 0) {
    if (isAtLeast(process.versions.node, '24.12')) return
    fail(`${own} does not run on this machine (a C library other than glibc?). Install a current Node.js.`)
  }
  // npm leaves out optional packages that are too new for the Node.js that runs it: ours is new enough.
  const found = cli ?? findProgram('npm')
  if (!found || isAtLeast(process.versions.node, '24.12')) return
  run([own, realpathSync(found), 'install', '--no-save', ...options], `npm install did not work. ${help}`)
}

function setUpPrograms() {
  const { tried = {} } = readStamp()
  const missing = programs.filter((program) => program.missing())
  const recently = (program) => !program.required && !inCi && Date.now() - (tried[program.name] ?? 0) < retryAfterMs
  const wanted = missing.filter((program) => !recently(program))
  const asRoot = wanted.length > 0 ? howToBeRoot() : undefined
  if (wanted.length > 0 && asRoot) {
    install(asRoot, wanted)
    for (const { packages, unpackTo } of wanted) if (unpackTo) unpack(packages, unpackTo)
    writeStamp({ tried: { ...tried, ...Object.fromEntries(wanted.map(({ name }) => [name, Date.now()])) } })
  }
  for (const { name, packages, required, unpackTo } of missing.filter((program) => program.missing())) {
    const how = unpackTo
      ? `The setup unpacks ${packages.join(' ')} where it may run apt-get.`
      : `Install it: apt-get install ${packages.join(' ')} (or the like of your system).`
    if (required) fail(`${name} is missing. ${how}`)
    say(`${name} is missing; tests that need it are skipped. ${how}`)
  }
}

/** The words before a command that make it run as root without a question; undefined: not permitted, or no apt. */
function howToBeRoot() {
  if (!findProgram('apt-get')) return undefined
  if (process.getuid?.() === 0) return []
  return findProgram('sudo') && spawnSync('sudo', ['-n', 'true']).status === 0 ? ['sudo', '-n'] : undefined
}

function install(asRoot, wanted) {
  const packages = wanted.flatMap((program) => (program.unpackTo ? [] : program.packages))
  say(packages.length > 0 ? `apt-get install ${packages.join(' ')}` : 'apt-get update')
  // The guard keeps the packages from starting their services, now and at the next boot: ours are private.
  const script = `
    guard=/usr/sbin/policy-rc.d
    if [ ! -e $guard ]; then
      printf '#!/bin/sh\\nexit 101\\n' >$guard && chmod 755 $guard && trap 'rm -f $guard' EXIT
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt="apt-get -qq -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0"
    said=$($apt update 2>&1) || echo "setup: apt-get update did not work: $said" >&2
    for package in "$@"; do
      said=$($apt install -y --no-install-recommends "$package" 2>&1) || { echo "$said" | tail -5 >&2; continue; }
      if [ -d /run/systemd/system ]; then
        for service in redis-server rsyslog prometheus nginx; do
          case "$package" in "$service" | "$service-light") ;; *) continue ;; esac
          systemctl disable --quiet "$service" || true
        done
      fi
    done`
  const words = [...asRoot, 'sh', '-c', script, 'setup', ...packages]
  spawnSync(words[0], words.slice(1), { stdio: ['ignore', 'inherit', 'inherit'] })
}

/** Fetches packages with those of their dependencies that are not installed, and unpacks them to a folder of ours. */
function unpack(packages, folder) {
  say(`unpack ${packages.join(' ')} to ${folder}`)
  const cache = dirname(folder)
  mkdirSync(cache, { recursive: true })
  // Only a folder that is complete gets its name.
  const work = mkdtempSync(join(cache, '.unpack-'))
  const script = `
    set -e
    cd "$1" && shift
    mkdir debs root
    names=$(apt-get -s install --no-install-recommends "$@" | sed -n 's/^Inst \\([^ ]*\\).*/\\1/p')
    (cd debs && apt-get -qq -o Acquire::Retries=3 -o APT::Sandbox::User=root download $names)
    for deb in debs/*.deb; do dpkg -x "$deb" root; done`
  const { status, stderr } = spawnSync('sh', ['-c', script, 'setup', work, ...packages], { encoding: 'utf8' })
  if (status === 0) {
    rmSync(folder, { recursive: true, force: true })
    renameSync(join(work, 'root'), folder)
  } else say(`could not unpack: ${stderr.trim().split('\n').at(-1)}`)
  rmSync(work, { recursive: true, force: true })
}

function findProgram(name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin'].filter(
    Boolean,
  )
  return folders.map((folder) => join(folder, name)).find((path) => isExecutable(path))
}

function findBrowser() {
  return ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'].some((name) => findProgram(name))
}

function hasRsyslogModule(name) {
  const folders = ['/usr/lib/rsyslog', '/usr/lib64/rsyslog', '/usr/local/lib/rsyslog']
  const multiarch = readdirSync('/usr/lib').filter((name) => name.includes('-linux-'))
  folders.push(...multiarch.map((name) => `/usr/lib/${name}/rsyslog`))
  return folders.some((folder) => existsSync(join(folder, name)))
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function isAtLeast(version, least) {
  const [have, want] = [version, least].map((text) => text.split('.').map(Number))
  for (let part = 0; part < want.length; part++) {
    if ((have[part] ?? 0) !== want[part]) return (have[part] ?? 0) > want[part]
  }
  return true
}

function readStamp() {
  try {
    return JSON.parse(readFileSync(stampFile, 'utf8'))
  } catch {
    return {} // not there yet, or cut short: everything is looked at again
  }
}

function writeStamp(changes) {
  writeFileSync(stampFile, JSON.stringify({ ...readStamp(), ...changes }))
}

function run(words, advice) {
  const done = spawnSync(words[0], words.slice(1), { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  if (done.status !== 0) fail(advice)
}

function say(text) {
  console.log(`setup: ${text}`)
}

function fail(text) {
  console.error(`setup: ${text}`)
  process.exit(1)
}
