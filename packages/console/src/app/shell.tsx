import { Component, type ComponentChildren, type ComponentType } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { connected, followChanges } from '../api/changes.ts'
import { api } from '../api/client.ts'
import { plugins, watchFeatures } from '../api/features.ts'
import { leave, me, signedIn } from '../api/session.ts'
import { useQuery } from '../api/use-query.ts'
import { t, word } from '../text/index.ts'
import { Brand } from '../ui/brand.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Input } from '../ui/field.tsx'
import type { IconName } from '../ui/icon.tsx'
import { Icon } from '../ui/icon.tsx'
import { EmptyState, Progress } from '../ui/parts.tsx'
import { whoText } from '../ui/who.ts'
import { GROUPS } from './groups.ts'
import { OutageStrip, outages } from './outages.tsx'
import type { PageProps } from './pages.ts'
import { ifPage, isForOthers, pageAt, pagesHere, titleOf } from './pages-here.ts'
import { match, navigate, path } from './router.ts'
import { Shortcuts, ShortcutsButton } from './shortcuts.tsx'
import { OnAirLamp, StopButton, tx, watchTransmitter } from './transmitter.tsx'

interface Failure {
  readonly error?: unknown
}

/** Keeps what fails in a page to that page: menu, Stop and the other pages go on. */
class PageGuard extends Component<{ readonly children: ComponentChildren }, Failure> {
  static override getDerivedStateFromError(error: unknown): Failure {
    return { error }
  }

  override render(): ComponentChildren {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <Broken title={t('app.pageBroke.help')}>
        <code>{String(error)}</code>
      </Broken>
    )
  }
}

/** What has been loaded for a pattern: the page, or that it could not be. */
interface Loaded {
  readonly pattern: string
  readonly Shown: ComponentType<PageProps> | undefined
}

/** The page at the address, loaded when it is first shown. */
function CurrentPage() {
  const here = path.value
  const page = pageAt(here)
  const [loaded, setLoaded] = useState<Loaded>()
  useEffect(() => {
    if (page === undefined) return
    document.title = `${titleOf(page)} · ${t('app.name')}`
    let isOver = false
    const take = (Shown: Loaded['Shown']): void => {
      if (!isOver) setLoaded({ pattern: page.path, Shown })
    }
    page.load().then(
      (module) => take(module.Page),
      () => take(undefined),
    )
    return () => {
      isOver = true
    }
  }, [page?.path])
  if (page === undefined)
    return plugins.value === undefined ? <Progress label={t('app.loading')} /> : <NotFound />
  if (loaded?.pattern !== page.path) return <Progress label={t('app.loading')} />
  const { Shown } = loaded
  if (Shown === undefined) return <Broken title={t('app.pageFailed')} />
  // Another address of the same page is drawn anew: a module of a plugin reads once what stands in it.
  return (
    <PageGuard key={here}>
      <Shown params={match(page.path, here) ?? {}} />
    </PageGuard>
  )
}

function NotFound() {
  const isOthers = isForOthers(path.value)
  return (
    <>
      <h1>{t(isOthers ? 'app.notYours' : 'app.notFound')}</h1>
      <EmptyState
        title={t(isOthers ? 'app.notYours.help' : 'app.notFound.help')}
        action={<ButtonLink href="/">{t('home.title')}</ButtonLink>}
      />
    </>
  )
}

function Broken({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <>
      <h1>{t('app.pageBroke')}</h1>
      <EmptyState title={title} action={<Button onClick={() => location.reload()}>{t('app.reload')}</Button>}>
        {children}
      </EmptyState>
    </>
  )
}

/** Something that the palette finds. */
interface Entry {
  readonly name: string
  /** What kind of thing it is, where its name does not say so. */
  readonly kind?: string
  readonly key: string
  readonly go: () => void
}

/** One letter is in every name. */
const LEAST_LETTERS = 2
/** Typing goes on meanwhile. */
const PAUSE_MS = 150
const MOST_OF_A_KIND = 5
/** No list has a search of its own for these: as many as one page has. */
const LOOKED_THROUGH = 500

/** What the box has by a part of its name: SIMs, who is online by an address, people. Kept while the next text is looked up. */
function useFound(text: string): readonly Entry[] {
  const [found, setFound] = useState<readonly Entry[]>([])
  const asked = text.trim()
  useEffect(() => {
    if (asked.length < LEAST_LETTERS) {
      setFound([])
      return undefined
    }
    let isOver = false
    const timer = setTimeout(async () => {
      const kinds = await Promise.all([sims(asked), sessions(asked), people(asked)])
      if (!isOver) setFound(kinds.flat())
    }, PAUSE_MS)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [asked])
  return found
}

/** By the label, the hash, the last digits of the ICCID or of the number; in the order of their labels, and where the others are. */
async function sims(q: string): Promise<readonly Entry[]> {
  const result = await api.get('/v1/sims', { query: { q, sort: 'label', limit: MOST_OF_A_KIND } })
  if (!result.ok) return []
  const found = result.data.sims.flatMap(({ imsi_sha256_12: hash, label, iccid_last4 }) =>
    entry(`/sims/${hash}`, t('app.palette.sim'), [
      label ?? hash,
      iccid_last4 === null ? '' : `…${iccid_last4}`,
    ]),
  )
  if (result.data.next_cursor === null) return found
  const href = `/sims?${new URLSearchParams({ q })}`
  return [...found, { name: t('app.palette.more'), key: href, go: () => navigate(href) }]
}

/** Who has an address, for what a log or a firewall shows. */
async function sessions(text: string): Promise<readonly Entry[]> {
  if (!/^[0-9a-f]+[.:][0-9a-f.:]*$/i.test(text)) return []
  const result = await api.get('/v1/sessions', { query: { limit: LOOKED_THROUGH } })
  if (!result.ok) return []
  return result.data.sessions
    .filter(({ ue_ip }) => ue_ip?.startsWith(text))
    .slice(0, MOST_OF_A_KIND)
    .flatMap(({ imsi_sha256_12: hash, ue_ip, apn, id }) =>
      entry(`/sims/${hash}`, t('app.palette.session'), [ue_ip ?? '', apn], id),
    )
}

async function people(text: string): Promise<readonly Entry[]> {
  if (ifPage('/people') === undefined) return []
  const result = await api.get('/v1/users', { query: { limit: LOOKED_THROUGH } })
  if (!result.ok) return []
  return result.data.users
    .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    .slice(0, MOST_OF_A_KIND)
    .flatMap(({ id, name }) => entry(`/people/${id}`, t('app.palette.person'), [name]))
}

function entry(path: string, kind: string, words: readonly string[], id = path): readonly Entry[] {
  const href = ifPage(path)
  const name = words.filter((word) => word !== '').join(' ')
  return href === undefined ? [] : [{ name, kind, key: `${kind} ${id}`, go: () => navigate(href) }]
}

/** Finds a page, a subscriber, a session or a person by a part of the name. */
export function Palette({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const id = useId()
  // When it is closed: at the next opening it would take away what is typed at once.
  useEffect(() => {
    if (!isOpen) setText('')
    setActive(0)
  }, [isOpen])
  const things = useFound(isOpen ? text : '')
  const found = isOpen ? [...pagesFor(text), ...things].slice(0, MOST_FOUND) : []
  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    onClose()
    entry.go()
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') choose(found[active])
    else if (step !== undefined) setActive(Math.max(0, Math.min(found.length - 1, active + step)))
    else return
    event.preventDefault()
  }
  return (
    <Dialog isOpen={isOpen} title={t('app.palette')} onClose={onClose}>
      <Input
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length === 0 ? undefined : `${id}-${active}`}
        aria-label={t('app.palette')}
        value={text}
        autoFocus
        onKeyDown={onKey}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setActive(0)
        }}
      />
      <div id={`${id}-list`} role="listbox" aria-label={t('app.palette')} class="palette">
        {found.map((entry, index) => (
          // The field above has the focus, and the keys.
          <button
            type="button"
            tabIndex={-1}
            key={entry.key}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            onClick={() => choose(entry)}
          >
            {entry.name}
            {entry.kind === undefined ? null : <span class="kind"> {entry.kind}</span>}
          </button>
        ))}
      </div>
      {found.length === 0 ? <p>{t('app.palette.none')}</p> : null}
    </Dialog>
  )
}

const MOST_FOUND = 12

function pagesFor(text: string): readonly Entry[] {
  const words = text.toLowerCase().split(/\s+/)
  return pagesHere()
    .filter(({ group }) => group !== undefined)
    .filter((page) => {
      const about = `${titleOf(page)} ${word('app.find', page.path)}`.toLowerCase()
      return words.every((part) => about.includes(part))
    })
    .map((page) => ({ name: titleOf(page), key: page.path, go: () => navigate(page.path) }))
}

/** The frame of every page: header, menu, the state of the connection, and Stop. */
export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [isFinding, setFinding] = useState(false)
  const state = signedIn.value
  useEffect(() => {
    if (state !== 'in') return undefined
    const following = new AbortController()
    void followChanges(api.events, following.signal)
    const stop = watchTransmitter()
    void watchFeatures()
    return () => {
      following.abort()
      stop()
    }
  }, [state])
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setFinding(true)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const here = path.value
  useEffect(() => setMenuOpen(false), [here])
  return (
    <div class="shell">
      <a class="skip" href="#page">
        {t('app.skip')}
      </a>
      <header>
        <button
          type="button"
          class="button quiet menu-button"
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          aria-label={t('app.menu')}
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name={isMenuOpen ? 'x' : 'menu'} />
        </button>
        <Brand href="/" />
        <div class="whereabouts">
          <BoxName />
          <OnAirLamp />
        </div>
        <Button kind="quiet" icon="search" onClick={() => setFinding(true)}>
          <span class="find-word">{t('app.find')}</span>
          <kbd class="wide-only">Ctrl K</kbd>
        </Button>
        <span class="wide-only">
          <Account />
        </span>
      </header>
      {connected.value ? null : (
        <div class="connection" role="alert">
          {t('connection.lost')}
        </div>
      )}
      {state === 'in' ? (
        <div class="outages" role="status">
          <OutageStrip />
        </div>
      ) : null}
      <Menu isOpen={isMenuOpen} />
      <main id="page" tabIndex={-1}>
        <CurrentPage />
      </main>
      <div class="stop">{tx.value?.transmitter === 'off' ? null : <StopButton />}</div>
      <Palette isOpen={isFinding} onClose={() => setFinding(false)} />
      <Shortcuts onFind={() => setFinding(true)} />
    </div>
  )
}

function BoxName() {
  const { data } = useQuery('/v1/nodes', { query: { limit: 100 } }, { on: ['node.*', 'config.*'] })
  const [only, ...others] = data?.nodes ?? []
  // A list of one needs no word on which one this box is; the status is the largest answer there is.
  const status = useQuery(others.length === 0 ? undefined : '/v1/status', {}, { on: ['config.*'] })
  const own = others.length === 0 ? only : data?.nodes.find(({ node_id: id }) => id === status.data?.node_id)
  return <strong class="box-name">{own?.name ?? t('app.name')}</strong>
}

function Account() {
  return (
    <span class="account">
      <span class="fine">{t('app.account', { name: me.value === undefined ? '' : whoText(me.value) })}</span>
      <Button kind="quiet" icon="log-out" onClick={() => void leave()}>
        {t('app.signOut')}
      </Button>
    </span>
  )
}

/** Where what is wrong is listed. */
const ALERTS = '/alerts'

export function Menu({ isOpen }: { readonly isOpen: boolean }) {
  // Entries that come later move those under the pointer: the click is lost, or goes to another page.
  if (plugins.value === undefined) return <nav id="menu" aria-label={t('app.menu')} />
  const pages = pagesHere()
  const here = path.value
  return (
    <nav id="menu" aria-label={t('app.menu')} class={isOpen ? 'is-open' : ''}>
      <div class="entries">
        {GROUPS.map((group) => {
          const own = pages.filter((page) => page.group === group)
          if (own.length === 0) return null
          return (
            <section key={group}>
              <h2>{t(`group.${group}`)}</h2>
              <ul>
                {own.map((page) => (
                  <li key={page.path}>
                    <MenuLink
                      href={page.path}
                      icon={page.icon}
                      text={titleOf(page)}
                      isHere={page.path === here}
                      count={page.path === ALERTS ? outages.value.length : 0}
                    />
                  </li>
                ))}
              </ul>
            </section>
          )
        })}
        <section class="elsewhere">
          <ul>
            <li>
              <MenuLink href="/docs" icon="book-open" text={t('app.docs')} />
            </li>
            <li>
              <MenuLink href="/v1/docs" icon="braces" text={t('app.apiDocs')} />
            </li>
          </ul>
          <span class="wide-only">
            <ShortcutsButton />
          </span>
          <span class="narrow-only">
            <Account />
          </span>
        </section>
      </div>
    </nav>
  )
}

function MenuLink({
  href,
  icon = 'puzzle',
  text,
  isHere = false,
  count = 0,
}: {
  readonly href: string
  readonly icon?: IconName | undefined
  readonly text: string
  readonly isHere?: boolean
  /** Of what is open there. */
  readonly count?: number
}) {
  return (
    <a href={href} aria-current={isHere ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{text}</span>
      {count === 0 ? null : <span class="count">{count}</span>}
    </a>
  )
}
