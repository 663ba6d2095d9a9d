import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import { eventually, unusedPort } from '@steeple/testkit'
import { runsWith } from './compatibility/runs.ts'
import { ROOT } from './launch.ts'

const EXAMPLES = join(ROOT, 'docs/proxies')

/** Whether Debian's nginx and Caddy are here. In CI they must be. */
export function hasProxies(): boolean {
  const isHere = [['nginx', '-v'] as const, ['caddy', 'version'] as const].every(
    ([name, flag]) => spawnSync(name, [flag]).error === undefined,
  )
  if (!isHere && process.env.CI === 'true')
    throw new Error('needs nginx and caddy: apt install nginx-light caddy')
  if (isHere) {
    runsWith('nginx', 'nginx', '-v')
    runsWith('Caddy', 'caddy', 'version')
  }
  return isHere
}

/** A reverse proxy that runs with an example of docs/proxies. */
export interface ReverseProxy {
  readonly name: string
  readonly url: string
  stop(): Promise<void>
}

/** What a proxy presents, and where it finds what it is in front of. */
export interface Surroundings {
  readonly folder: string
  /** Files of its certificate, for 127.0.0.1. */
  readonly certificate: { readonly cert: string; readonly key: string }
  /** `host:port` of the service, without TLS. */
  readonly plain: string
  /** `host:port` of the service with TLS, and the file of its authority. */
  readonly secure: { readonly address: string; readonly ca: string }
}

/** nginx with docs/proxies/nginx.conf, and a second time with TLS to the service too, as nginx-tls.conf says. */
export async function startNginx(around: Surroundings): Promise<readonly ReverseProxy[]> {
  const folder = join(around.folder, 'nginx')
  mkdirSync(folder)
  const ports = [await unusedPort(), await unusedPort()] as const
  const site = (port: number, service: string, name: string): string =>
    replaced(readFileSync(join(EXAMPLES, 'nginx.conf'), 'utf8'), [
      ['upstream steeple', `upstream ${name}`],
      ['server 127.0.0.1:8080;', `server ${service};`],
      ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
      ['/etc/ssl/box.pem', around.certificate.cert],
      ['/etc/ssl/box.key', around.certificate.key],
      ['proxy_pass http://steeple;', `proxy_pass http://${name};`],
    ])
  const overTls = replaced(readFileSync(join(EXAMPLES, 'nginx-tls.conf'), 'utf8'), [
    ['https://steeple', 'https://secure'],
    ['/etc/ssl/steeple-ca.pem', around.secure.ca],
  ])
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder};`,
  )
  const text = [
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    `worker_processes 1; pid ${folder}/pid; error_log stderr; events {}`,
    `http { access_log off; ${temporary.join(' ')}`,
    site(ports[0], around.plain, 'plain'),
    replaced(site(ports[1], around.secure.address, 'secure'), [['proxy_pass http://secure;', overTls]]),
    '}',
  ].join('\n')
  writeFileSync(join(folder, 'nginx.conf'), text)
  const run = start('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', 'daemon off;'], folder)
  const names = ['nginx', 'nginx over TLS']
  return await Promise.all(ports.map((port, at) => ready(names[at] ?? '', port, run)))
}

/** Caddy with docs/proxies/Caddyfile, with a certificate that is there already. */
export async function startCaddy(around: Surroundings): Promise<ReverseProxy> {
  const folder = join(around.folder, 'caddy')
  mkdirSync(folder)
  const port = await unusedPort()
  const { cert, key } = around.certificate
  const site = replaced(readFileSync(join(EXAMPLES, 'Caddyfile'), 'utf8'), [
    ['box.example.org {', `https://127.0.0.1:${port} {\n\ttls ${cert} ${key}`],
    ['127.0.0.1:8080', around.plain],
  ])
  const alone = '{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n}\n'
  writeFileSync(join(folder, 'Caddyfile'), alone + site)
  const run = start('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], folder)
  return await ready('Caddy', port, run)
}

/** Every text in the place of another, each of which must be there: an example that changes changes its test. */
function replaced(text: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`the example does not hold ${from}`)
    return changed.replaceAll(from, () => to)
  }, text)
}

interface Run {
  readonly child: ChildProcess
  readonly said: () => string
  readonly ended: Promise<void>
}

function start(program: string, args: readonly string[], folder: string): Run {
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const out of [child.stdout, child.stderr])
    out.on('data', (piece) => {
      text += piece
    })
  const ended = new Promise<void>((resolve) => {
    child.on('error', () => resolve())
    child.on('close', () => resolve())
  })
  return { child, said: () => text, ended }
}

async function ready(name: string, port: number, { child, said, ended }: Run): Promise<ReverseProxy> {
  const url = `https://127.0.0.1:${port}`
  await eventually(async () => child.exitCode !== null || (await answers(url))).catch((cause: unknown) => {
    child.kill('SIGKILL')
    throw new Error(`${name} does not answer:\n${said()}`, { cause })
  })
  if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${said()}`)
  return {
    name,
    url,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = https.get(
      `${url}/v1/healthz`,
      { rejectUnauthorized: false, agent: false },
      (incoming) => {
        incoming.resume()
        resolve(incoming.statusCode === 200)
      },
    )
    request.on('error', () => resolve(false))
  })
}
