import { X509Certificate } from 'node:crypto'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  isServiceError,
  type Log,
  nodeCredentialsRef,
  type ServiceRef,
  type Settings,
} from '@steeple/contracts'
import { initNode, openNodeCredentials, renewNodeCertificate, type Secrets } from '@steeple/secrets'
import {
  assert,
  defaultSettings,
  type FakeClock,
  fakeClock,
  suite,
  type TempDir,
  tempDir,
} from '@steeple/testkit'
import { checkTransport } from '../src/doctor/doctor.ts'
import { type ListenerKernel, listenerTls } from '../src/serve.ts'

const DAY_MS = 86_400_000
const tls = suite('cli/listener-tls')

let root: TempDir
let clock: FakeClock
let secrets: Secrets
/** Another box, whose certificate stands for one that was bought. */
let other: Secrets

tls.before(async () => {
  root = await tempDir()
  clock = fakeClock()
  secrets = (await initNode({ dataDir: join(root.path, 'box'), clock })).secrets
  other = (await initNode({ dataDir: join(root.path, 'other'), clock })).secrets
})
tls.after(() => root.remove())

interface World {
  readonly kernel: ListenerKernel
  readonly said: string[]
  /** As after SIGHUP. */
  reload(settings: Partial<Settings['tls']>): void
}

function world(files: Partial<Settings['tls']> = {}): World {
  const identity = openNodeCredentials(secrets)
  const listeners: (() => void)[] = []
  const said: string[] = []
  const note = (_facts: object, message: string): void => void said.push(message)
  const log: Log = { debug: note, info: note, warn: note, error: note }
  let settings = defaultSettings({ tls: { enabled: true, ...files } })
  return {
    kernel: {
      get settings() {
        return settings
      },
      onSettings: (listener) => void listeners.push(listener),
      // The one service that is asked for.
      service: <T extends object>({ id }: ServiceRef<T>) =>
        (id === nodeCredentialsRef.id ? identity : undefined) as T | undefined,
      log,
    },
    said,
    reload: (next) => {
      settings = defaultSettings({ tls: { ...settings.tls, ...next } })
      for (const listener of listeners) listener()
    },
  }
}

function filesOf(name: string, of: Secrets): { readonly cert_file: string; readonly key_file: string } {
  const [cert_file, key_file] = [join(root.path, `${name}.pem`), join(root.path, `${name}.key`)]
  writeFileSync(cert_file, of.tls().cert)
  writeFileSync(key_file, of.tls().key)
  return { cert_file, key_file }
}

tls('presents what the node has from its mesh, with the CA that newcomers know by its hash', () => {
  const listener = listenerTls(world().kernel, secrets)
  const { key, cert, boxes, nodesCa, operatorsCa } = listener.material()
  listener.close()
  assert.equal([key, cert], [secrets.tls().key, `${secrets.tls().cert.trimEnd()}\n${secrets.caPem}`])
  assert.equal([boxes, nodesCa, operatorsCa], [undefined, secrets.caPem, secrets.caPem])
})

tls('tells the listener of a renewal, once', async () => {
  const listener = listenerTls(world().kernel, secrets)
  let told = 0
  listener.onChange(() => {
    told += 1
  })
  const before = listener.material()
  await clock.advance(16 * DAY_MS)
  assert.is(await renewNodeCertificate(secrets, clock), true)
  assert.is(told, 1)
  assert.is.not(listener.material().cert, before.cert)
  assert.ok(listener.material().cert.startsWith(secrets.tls().cert.trimEnd()))
  listener.close()
})

tls('presents given files to people, and to boxes what the node has from its mesh', () => {
  const files = filesOf('given', other)
  const { kernel } = world(files)
  const listener = listenerTls(kernel, secrets)
  const { cert, key, boxes } = listener.material()
  listener.close()
  assert.equal([cert, key], [other.tls().cert, other.tls().key])
  assert.ok(boxes?.cert.startsWith(secrets.tls().cert.trimEnd()))
})

tls('takes files that change, and keeps what it has beside those that cannot be used', () => {
  const files = filesOf('changing', other)
  const { kernel, said, reload } = world(files)
  const listener = listenerTls(kernel, secrets)
  let told = 0
  listener.onChange(() => {
    told += 1
  })
  const own = filesOf('own', secrets)
  copyFileSync(own.cert_file, files.cert_file)
  reload({})
  reload({})
  assert.is(told, 0)
  assert.is(listener.material().cert, other.tls().cert)
  assert.equal(said, ['the listener keeps the certificate that it has'])
  copyFileSync(own.key_file, files.key_file)
  reload({})
  assert.is(told, 1)
  assert.is(listener.material().cert, secrets.tls().cert)
  writeFileSync(files.key_file, 'no key')
  reload({})
  assert.is(listener.material().key, secrets.tls().key)
  reload({ cert_file: '', key_file: '' })
  assert.is(listener.material().boxes, undefined)
  listener.close()
})

tls('says in health a week ahead that what is presented ends, and what keeps it from being replaced', () => {
  const files = filesOf('ending', other)
  const { kernel, reload } = world(files)
  const listener = listenerTls(kernel, secrets)
  const at = (days: number): string => {
    const [component, more] = listener.health(clock.nowMs() + days * DAY_MS)
    assert.is(more, undefined)
    assert.is(component?.name, 'listener')
    assert.is(component?.required, false)
    return `${component?.status} ${component?.detail}`
  }
  assert.is(at(0), 'ok what it presents is good')
  const endsInDays = Math.floor(
    (Date.parse(new X509Certificate(other.tls().cert).validTo) - clock.nowMs()) / DAY_MS,
  )
  assert.match(at(endsInDays - 6), /^degraded .*ending\.pem ends in 6 days; renew it$/)
  assert.match(at(endsInDays + 1), /^degraded .*ending\.pem has expired; renew it$/)
  assert.match(at(-60), /^degraded .* is good from .* on; check the clock$/)
  writeFileSync(files.key_file, 'no key')
  reload({})
  assert.match(at(0), /^degraded tls\.key_file /)
  reload({ cert_file: '', key_file: '' })
  assert.is(at(0), 'ok what it presents is good')
  assert.match(at(29), /^degraded its own certificate (ends in|has expired)/)
  listener.close()
})

tls('does not start with files that cannot be used', () => {
  const files = filesOf('mixed', other)
  const wrong = [
    { ...files, cert_file: join(root.path, 'nothing.pem') },
    { ...files, key_file: join(root.path, 'nothing.key') },
    { ...files, key_file: files.cert_file },
    { cert_file: files.cert_file, key_file: filesOf('own-too', secrets).key_file },
  ]
  for (const one of wrong) {
    try {
      listenerTls(world(one).kernel, secrets).close()
      assert.unreachable(JSON.stringify(one))
    } catch (error) {
      assert.ok(isServiceError(error) && error.code === 'config_invalid')
      assert.not.match(String(error), /PRIVATE KEY/)
    }
  }
})

tls('has the doctor say what is presented, how long it is good, and what to do', () => {
  const said = (more: Partial<Settings['tls']>, listen = ':8080'): string => {
    const settings = defaultSettings({
      server: { listen, data_dir: join(root.path, 'box') },
      tls: { enabled: true, ...more },
    })
    return checkTransport(settings, clock)
      .map(({ status, detail }) => `${status} ${detail}`)
      .join()
  }
  assert.match(said({}), /^ok TLS with its own certificate, good for (29|30) days$/)
  assert.match(said(filesOf('seen', other)), /^ok TLS with .*seen\.pem, good for 1[34] days$/)
  assert.match(
    said({ cert_file: '/nothing.pem', key_file: '/nothing.key' }),
    /^fail tls\.cert_file is \/nothing\.pem/,
  )
  assert.match(said({ enabled: false }), /^warn plain HTTP/)
  assert.match(said({ enabled: false }, '127.0.0.1:8080'), /^ok plain HTTP, on this machine alone$/)
})

tls.run()
