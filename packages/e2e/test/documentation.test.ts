import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ERROR_CATALOGUE } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { createJudge } from '../harness/fuzz/judge.ts'
import { fetchOpenApi, type OpenApi, operationsOf } from '../harness/openapi.ts'
import { type Service, startService } from '../harness/service.ts'

const docs = suite('e2e/documentation')

/** Where Debian and its relatives put the browser. */
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

let service: Service
let document: OpenApi

docs.before(
  async () => {
    service = await startService()
    document = await fetchOpenApi(service.url)
  },
  { limitMs: 30_000 },
)
docs.after(async () => {
  await service.stop()
})

docs('serves the page and everything that it loads itself, to anyone', async () => {
  const page = await get('/v1/docs')
  assert.is(page.type, 'text/html; charset=utf-8')
  const urls = referencesOf(page.text)
  assert.ok(urls.length >= 3, `${urls.length} files`)
  for (const reference of urls) {
    const url = new URL(reference, `${service.url}/v1/docs`)
    assert.is(url.origin, service.url, reference)
    const { type, text } = await get(url.pathname)
    assert.match(type, url.pathname.endsWith('.css') ? /^text\/css/ : /^text\/javascript/, reference)
    assert.ok(text.length > 50, reference)
  }
})

docs('names no other host in the page, in what starts it and in its style sheet', async () => {
  for (const path of ['/v1/docs', '/v1/docs/initializer.js', '/v1/docs/swagger-ui.css']) {
    const { text } = await get(path)
    const hosts = [...text.matchAll(/(?:https?:)?\/\/([a-z0-9.-]+\.[a-z]{2,})/gi)].map(([, host]) => host)
    // The name of the SVG namespace, inside pictures of the style sheet, is never fetched.
    const others = hosts.filter((host) => host !== 'www.w3.org')
    assert.equal(others, [], path)
    for (const [, target = ''] of text.matchAll(/url\(["']?([^)"']+)/g)) assert.match(target, /^data:/, path)
    assert.not.match(text, /@import/, path)
  }
})

docs('forbids the browser to ask any other host, to run anything inline, or to be framed', async () => {
  const { policy, text } = await get('/v1/docs')
  const rules = new Map(
    policy.split(';').map((rule) => {
      const [name = '', ...sources] = rule.trim().split(' ')
      return [name, sources] as const
    }),
  )
  assert.equal(rules.get('default-src'), ["'none'"])
  assert.equal(rules.get('frame-ancestors'), ["'none'"])
  for (const [name, sources] of rules) {
    for (const source of sources)
      assert.ok(["'none'", "'self'", 'data:'].includes(source), `${name} ${source}`)
  }
  assert.equal(rules.get('script-src'), ["'self'"])
  assert.not.match(text, /<script(?![^>]*\bsrc=)/, 'an inline script')
  assert.not.match(text, /\son[a-z]+=/, 'an inline handler')
})

docs('reads the document of this very service, and sends it nowhere to be validated', async () => {
  const { text } = await get('/v1/docs/initializer.js')
  const [, url = ''] = /url: '([^']+)'/.exec(text) ?? []
  assert.is(new URL(url, `${service.url}/v1/docs`).pathname, '/v1/openapi.json')
  assert.match(text, 'validatorUrl: null')
  assert.match(text, 'persistAuthorization: false')
})

docs('documents every operation so that a client can be made from it', () => {
  assert.is(document.openapi, '3.1.0')
  const ids = new Set<string>()
  for (const { method, path, object, parameters } of operationsOf(document)) {
    const name = `${method} ${path}`
    const { summary } = object as unknown as { readonly summary: string }
    assert.ok(summary.length > 5, `${name} has no summary`)
    assert.not.ok(ids.has(object.operationId), `${object.operationId} is there twice`)
    ids.add(object.operationId)
    const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map(([, parameter]) => parameter).sort()
    const declared = parameters.filter((one) => one.in === 'path').map((one) => one.name)
    assert.equal(declared.sort(), inPath, name)
    const statuses = Object.keys(object.responses).map(Number)
    assert.is(statuses.filter((status) => status >= 200 && status < 300).length, 1, `${name}: one success`)
    for (const status of object.security.length > 0 ? [401, 403] : []) {
      assert.ok(statuses.includes(status), `${name} lacks ${status}`)
    }
    if (method !== 'GET') assert.ok(object.requestBody !== undefined || statuses.includes(400), name)
  }
})

docs('has schemas that compile, references that lead somewhere, and only codes of the catalogue', () => {
  createJudge(document)
  const text = JSON.stringify(document)
  for (const [, reference = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = reference
      .split('/')
      .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], document)
    assert.ok(target !== undefined, reference)
  }
  const known = new Set(ERROR_CATALOGUE.map((factory) => factory.code))
  for (const { object } of operationsOf(document)) {
    for (const [status, response] of Object.entries(object.responses)) {
      if (Number(status) < 400) continue
      const codes = JSON.stringify(response).match(/"code":\{"enum":\[([^\]]+)\]/)?.[1] ?? ''
      const listed = codes.split(',').map((code) => code.slice(1, -1))
      assert.ok(
        listed.length > 0 && listed.every((code) => known.has(code)),
        `${object.operationId}: ${codes}`,
      )
    }
  }
})

/**
 * The page in a browser that can reach this service alone. Where no browser is installed the test says so and looks
 * at what the browser would run: that the parts that the page calls are in the bundle that it loads.
 */
docs(
  'shows every route in a browser without any other network',
  async () => {
    const browser = BROWSERS.find((path) => existsSync(path))
    const paths = Object.keys(document.paths)
    if (browser === undefined) {
      process.stdout.write('\n# no browser is installed: the page was checked without running it\n')
      const { text } = await get('/v1/docs/swagger-ui-bundle.js')
      assert.match(text, /SwaggerUIBundle\s*=/)
      assert.match((await get('/v1/docs')).text, /id="api"/)
      assert.match((await get('/v1/docs/initializer.js')).text, "dom_id: '#api'")
      return
    }
    const dom = await render(browser, `${service.url}/v1/docs`)
    for (const path of paths) {
      // The page writes long paths with places to break them.
      assert.ok(dom.includes(`data-path="${path}"`), `${path} is not on the page`)
    }
    process.stdout.write(`\n# ${paths.length} paths shown by ${browser}\n`)
  },
  { limitMs: 90_000 },
)

docs.run()

interface Served {
  readonly type: string
  readonly policy: string
  readonly text: string
}

async function get(path: string): Promise<Served> {
  const response = await fetch(service.url + path)
  assert.is(response.status, 200, path)
  assert.is(response.headers.get('x-content-type-options'), 'nosniff', path)
  return {
    type: response.headers.get('content-type') ?? '',
    policy: response.headers.get('content-security-policy') ?? '',
    text: await response.text(),
  }
}

/** What a browser fetches for a page: the targets of its `src` and `href`. */
function referencesOf(html: string): readonly string[] {
  return [...html.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, target = '']) => target)
}

/** The document of a page after its scripts have run. The browser resolves no name. */
async function render(browser: string, url: string): Promise<string> {
  const profile = mkdtempSync(join(tmpdir(), 'steeple-browser-'))
  try {
    return await new Promise((resolve, reject) => {
      const flags = [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--disable-background-networking',
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
        `--user-data-dir=${profile}`,
        '--virtual-time-budget=20000',
        '--dump-dom',
      ]
      const child = spawn(browser, [...flags, url], { stdio: ['ignore', 'pipe', 'ignore'] })
      let dom = ''
      child.stdout.on('data', (chunk) => {
        dom += chunk
      })
      child.on('error', reject)
      child.on('close', () => resolve(dom))
    })
  } finally {
    rmSync(profile, { recursive: true, force: true })
  }
}
