import { type Route, route } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { pageFor } from '../src/host/endpoint.ts'

const pages = suite('api/page-for')

const endpoints = (everyPage: boolean): Parameters<typeof pageFor>[1] =>
  [
    route({ method: 'GET', path: '/', role: 'public', summary: 'Page', everyPage, handle: async () => ({}) }),
    route({ method: 'GET', path: '/v1/sims', role: 'viewer', summary: 'SIMs', handle: async () => ({}) }),
  ].map((one: Route) => ({ route: one })) as unknown as Parameters<typeof pageFor>[1]
const FEATURES = [{ prefix: '/gsma/rsp2' }]
const HTML = 'text/html,application/xhtml+xml;q=0.9'
const shows = (url: string, { method = 'GET', accept = HTML, everyPage = true } = {}): boolean =>
  pageFor({ method, url, headers: { accept } }, endpoints(everyPage), FEATURES) !== undefined

pages('show themselves to browsers at addresses that could be theirs', () => {
  for (const url of ['/sims', '/sims/0123456789ab', '/radio?band=b3', '/a/b/c/d/e/f', '/start#x'])
    assert.ok(shows(url), url)
})

pages('show that there is nothing at what looks like another host', () => {
  for (const url of [
    '//sims',
    '//evil.example/',
    '//evil.example/%2e%2e/x.png',
    '/\\evil.example',
    '/%5Cevil.example',
  ])
    assert.ok(shows(url), url)
  assert.not.ok(shows('//evil.example/', { accept: 'application/json' }))
  assert.not.ok(shows('//evil.example/', { everyPage: false }), 'a build without such a page')
})

pages('leave all else to what answers that there is nothing', () => {
  const none = [
    '/v1/sim',
    '/v1',
    '/gsma/nothing',
    '/favicon.ico',
    '/a/b/c/d/e/f/g',
    '/sims/',
    '/%2e%2e/x',
    '/a\\b',
    '',
  ]
  for (const url of none) assert.not.ok(shows(url), url)
  assert.not.ok(shows('/sims', { method: 'POST' }))
  assert.not.ok(shows('/sims', { accept: 'application/json' }))
  assert.not.ok(shows('/sims', { accept: '*/*' }))
  assert.not.ok(shows('/sims', { everyPage: false }), 'a build without such a page')
})

pages.run()
