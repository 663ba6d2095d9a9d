import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { inBrowser, open } from './support/page.ts'

const { filter, followLinks, guardLeaving, match, navigate, path, setFilters } = await import(
  '../src/app/router.ts'
)
const { PAGES } = await import('../src/app/pages.ts')
const { ifPage, isForOthers, pageAt, pagesHere } = await import('../src/app/pages-here.ts')
const { plugins } = await import('../src/api/features.ts')

/** Addresses: which page each is of, what filters it holds, and who may leave. */
const router = suite('console/router')
inBrowser(router)
router.before(() => followLinks((at) => PAGES.some((page) => match(page.path, at) !== undefined)))

/** As somebody with these roles, at that address. */
const at = (address: string, roles?: readonly string[]) =>
  open(address, { 'GET /v1/settings': { settings: [] } }, roles === undefined ? {} : { roles })

router('finds what stands in the places of a pattern, and nothing where it does not fit', () => {
  for (const [pattern, asked, found] of [
    ['/', '/', {}],
    ['/sims', '/sims', {}],
    ['/sims', '/sims/', {}],
    ['/sims/:hash', '/sims/0123456789ab', { hash: '0123456789ab' }],
    ['/sims/:hash', '/sims/0123456789ab/', { hash: '0123456789ab' }],
    ['/a/:b/c/:d', '/a/1/c/2', { b: '1', d: '2' }],
    ['/people/:id', '/people/a%20b%2Fc', { id: 'a b/c' }],
    ['/people/:id', '/people/%E0%A4%A', undefined],
    ['/sims/:hash', '/sims', undefined],
    ['/sims/:hash', '/sims/', undefined],
    ['/sims/:hash', '/sims//', undefined],
    ['/sims', '/simss', undefined],
    ['/sims', '/sims/1', undefined],
    ['/a/:b/c/:d', '/a/1/x/2', undefined],
  ] as const)
    assert.equal(match(pattern, asked), found, `${pattern} ${asked}`)
})

router('gives back whatever text was put into a place', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
      assert.equal(match('/people/:id', `/people/${encodeURIComponent(text)}`), { id: text })
    }),
  )
})

router('keeps filters in the address, and takes an empty one out of it', async () => {
  await at('/settings?q=a')
  for (const [filters, address] of [
    [{ set: '1' }, '/settings?q=a&set=1'],
    [{ q: 'b c&d' }, '/settings?q=b+c%26d&set=1'],
    [{ q: '' }, '/settings?set=1'],
    [{ q: 'ü', set: undefined }, '/settings?q=%C3%BC'],
    [{ q: undefined }, '/settings'],
  ] as const) {
    setFilters(filters)
    assert.is(location.pathname + location.search, address)
  }
  const text = fc.string({ unit: 'grapheme' })
  fc.assert(
    fc.property(text, text, (q, other) => {
      setFilters({ q, other })
      assert.equal([filter('q'), filter('other')], [q, other])
    }),
  )
})

router('makes a step of the history where it is told to, and of no other filter', async () => {
  await at('/settings')
  const before = history.length
  setFilters({ q: 'a' })
  setFilters({ q: 'ab' })
  assert.is(history.length, before)
  setFilters({ page: '2' }, { isStep: true })
  assert.is(history.length, before + 1)
})

router(
  'asks before typed things are lost, once for each way out, and lets go when it is answered',
  async () => {
    await at('/settings')
    let answer = false
    const asked: (string | undefined)[] = []
    const own = globalThis.confirm
    globalThis.confirm = (question) => {
      asked.push(question)
      return answer
    }
    try {
      let question: string | undefined = 'Leave?'
      guardLeaving(() => question)
      navigate('/sims')
      assert.is(path.value, '/settings')
      setFilters({ q: 'a' })
      assert.equal(asked, ['Leave?'], 'a filter leaves no page')
      question = undefined
      navigate('/people')
      assert.is(path.value, '/people')
      const stop = guardLeaving(() => 'Sure?')
      guardLeaving(() => 'Really?')
      // The one before has gone: it takes nothing of the one that came.
      stop()
      navigate('/sims')
      assert.is(path.value, '/people')
      answer = true
      navigate('/sims')
      navigate('/people')
      assert.equal(asked, ['Leave?', 'Really?', 'Really?'])
    } finally {
      globalThis.confirm = own
    }
  },
)

/** Whether a click on a link stayed within the page, and where the reader is then. */
function click(link: Readonly<Record<string, string>>, how: object = {}): readonly [boolean, string] {
  const anchor = document.createElement('a')
  for (const [name, value] of Object.entries(link)) anchor.setAttribute(name, value)
  document.body.append(anchor)
  const Click = Reflect.get(window, 'MouseEvent') as typeof MouseEvent
  const event = new Click('click', { bubbles: true, cancelable: true, button: 0, ...how })
  // What the browser would do with it is not for here.
  const isKept = { is: false }
  const look = (given: Event): void => {
    isKept.is = given.defaultPrevented
    given.preventDefault()
  }
  addEventListener('click', look)
  anchor.dispatchEvent(event)
  removeEventListener('click', look)
  anchor.remove()
  return [isKept.is, path.value]
}

router('follows links to its pages without loading anything, and no other link or press', async () => {
  for (const [link, how, isFollowed] of [
    [{ href: '/sims?state=issued' }, {}, true],
    [{ href: 'http://box.example/people/1' }, {}, true],
    [{ href: '/docs/how-to/alerts.html' }, {}, false],
    [{ href: 'https://other.example/sims' }, {}, false],
    [{ href: '/sims', target: '_blank' }, {}, false],
    [{ href: '/sims', download: 'sims' }, {}, false],
    [{ href: '/settings#api.port' }, {}, false],
    [{ href: '/sims' }, { ctrlKey: true }, false],
    [{ href: '/sims' }, { metaKey: true }, false],
    [{ href: '/sims' }, { shiftKey: true }, false],
    [{ href: '/sims' }, { button: 1 }, false],
  ] as const) {
    await at('/settings')
    const [isKept, where] = click(link, how)
    assert.is(isKept, isFollowed, JSON.stringify([link, how]))
    assert.is(where !== '/settings', isFollowed)
  }
})

router(
  'shows everybody the pages that their roles open, in the order of the menu, and links to no other',
  async () => {
    await at('/settings', ['viewer'])
    const shown = pagesHere().map((page) => page.path)
    assert.equal(shown, [
      '/sims/foreign',
      '/',
      '/sims',
      '/sessions',
      '/radio',
      '/rules',
      '/core',
      '/system',
      '/account',
      '/sims/:hash',
    ])
    assert.is(ifPage('/people'), undefined)
    assert.is(ifPage('/sims/import'), undefined, 'a page of its own is no value of a pattern')
    assert.is(pageAt('/sims/0123456789ab')?.path, '/sims/:hash')
    for (const [asked, isKept] of [
      ['/people', true],
      ['/people/1', true],
      ['/sims/import', true],
      ['/sims', false],
      ['/nowhere', false],
    ] as const)
      assert.is(isForOthers(asked), isKept, asked)
    await at('/settings', ['viewer', 'sim:issuer'])
    assert.is(pageAt('/sims/import')?.path, '/sims/import')
  },
)

router('has the pages of a plugin while it runs, where it says that they stand', async () => {
  await at('/settings')
  const told = { title: { en: 'Notes', de: 'Notizen' }, role: 'viewer', module: '/notes.js' }
  plugins.value = [
    {
      ...{ name: 'notes', version: '1', panels: [] },
      pages: [
        { path: '/notes', group: 'people', place: 15, ...told },
        { path: '/notes/:id', ...told },
        { path: '/secret', ...told, role: 'of nobody' },
        { path: '/odd', group: 'nowhere', ...told },
      ],
    },
  ] as never
  const paths = pagesHere().map((page) => page.path)
  assert.equal(paths.slice(paths.indexOf('/sims'), paths.indexOf('/sessions') + 1), [
    '/sims',
    '/notes',
    '/sessions',
  ])
  assert.is(pageAt('/notes/1')?.path, '/notes/:id')
  assert.equal(pageAt('/notes')?.title, { text: 'Notes' })
  assert.not(paths.includes('/secret'), 'a role that is not known opens nothing')
  plugins.value = []
  assert.is(pageAt('/notes'), undefined)
})

router.run()
