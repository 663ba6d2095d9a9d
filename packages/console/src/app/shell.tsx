import { useEffect, useState } from 'preact/hooks'
import { connected } from '../api/changes.ts'
import { watchFeatures } from '../api/features.ts'
import { follow } from '../api/live.ts'
import { leave, me, signedIn } from '../api/session.ts'
import { useQuery } from '../api/use-query.ts'
import { t } from '../text/index.ts'
import { Button } from '../ui/button.tsx'
import { whoText } from '../ui/who.ts'
import { CurrentPage } from './current-page.tsx'
import { GROUPS } from './groups.ts'
import { pagesHere, titleOf } from './pages-here.ts'
import { Palette } from './palette.tsx'
import { path } from './router.ts'
import { OnAirLamp, StopButton, watchTransmitter } from './transmitter.tsx'

/** The frame of every page: header, menu, the state of the connection, and Stop. */
export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [isFinding, setFinding] = useState(false)
  const state = signedIn.value
  useEffect(() => {
    if (state !== 'in') return undefined
    const endings = [follow(), watchTransmitter()]
    void watchFeatures()
    return () => {
      for (const end of endings) end()
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
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          {t('app.menu')}
        </button>
        <div class="whereabouts">
          <BoxName />
          <OnAirLamp />
        </div>
        <Button kind="quiet" onClick={() => setFinding(true)}>
          {t('app.find')} <kbd class="wide-only">Ctrl K</kbd>
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
      <Menu isOpen={isMenuOpen} />
      <main id="page" tabIndex={-1}>
        <CurrentPage />
      </main>
      <div class="stop">
        <StopButton />
      </div>
      <Palette isOpen={isFinding} onClose={() => setFinding(false)} />
    </div>
  )
}

function BoxName() {
  const status = useQuery('/v1/status', {}, { on: ['config.*'] })
  const nodes = useQuery('/v1/nodes', { query: { limit: 100 } }, { on: ['node.*', 'config.*'] })
  const own = nodes.data?.nodes.find(({ node_id }) => node_id === status.data?.node_id)
  return <strong class="box-name">{own?.name ?? t('app.name')}</strong>
}

function Account() {
  return (
    <span class="account">
      <span class="fine">{t('app.account', { name: me.value === undefined ? '' : whoText(me.value) })}</span>
      <Button kind="quiet" onClick={() => void leave()}>
        {t('app.signOut')}
      </Button>
    </span>
  )
}

function Menu({ isOpen }: { readonly isOpen: boolean }) {
  const pages = pagesHere()
  const here = path.value
  return (
    <nav id="menu" aria-label={t('app.menu')} class={isOpen ? 'is-open' : ''}>
      {GROUPS.map((group) => {
        const own = pages.filter((page) => page.group === group)
        if (own.length === 0) return null
        return (
          <section key={group}>
            <h2>{t(`group.${group}`)}</h2>
            <ul>
              {own.map((page) => (
                <li key={page.path}>
                  <a href={page.path} aria-current={page.path === here ? 'page' : undefined}>
                    {titleOf(page)}
                  </a>
                </li>
              ))}
            </ul>
          </section>
        )
      })}
      <section class="elsewhere">
        <ul>
          <li>
            <a href="/docs">{t('app.docs')}</a>
          </li>
          <li>
            <a href="/v1/docs">{t('app.apiDocs')}</a>
          </li>
        </ul>
        <span class="narrow-only">
          <Account />
        </span>
      </section>
    </nav>
  )
}
