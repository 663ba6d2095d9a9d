import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { certificateProblem, signedIn } from '../api/session.ts'
import { SignIn } from '../pages/signin/sign-in.tsx'
import { t } from '../text/index.ts'
import { Brand } from '../ui/brand.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Toasts } from '../ui/toast.tsx'
import { PAGES } from './pages.ts'
import { pagesOfPlugins } from './plugin-pages.tsx'
import { match, path } from './router.ts'
import { Shell } from './shell.tsx'

/** Whether the console has a page at that path. */
export function isPagePath(path: string): boolean {
  return [...PAGES, ...pagesOfPlugins()].some((page) => match(page.path, path) !== undefined)
}

/** Where the link of an invitation leads, whoever is signed in here. */
const INVITATION = '/invitation'

/** The page of an invitation, which few ever load. */
function Invited() {
  const [Accept, setAccept] = useState<ComponentType>()
  useEffect(() => {
    void import('../pages/signin/accept.tsx').then((loaded) => setAccept(() => loaded.Accept))
  }, [])
  return (
    <main class="signin" id="page">
      <Brand />
      <h1>{t('signin.accept')}</h1>
      {Accept === undefined ? null : <Accept />}
    </main>
  )
}

/** Everything: signing in, or the pages with their frame. A session that ended is renewed over the page, so nothing is lost. */
export function App() {
  const state = signedIn.value
  useEffect(() => {
    document.title = t('app.name')
  }, [])
  if (path.value === INVITATION) return <Invited />
  if (state === 'asking') return null
  return (
    <>
      {state === 'out' ? (
        <main class="signin" id="page">
          <Brand />
          <h1>{t('signin.title')}</h1>
          <SignIn />
        </main>
      ) : (
        <Shell />
      )}
      <Dialog isOpen={state === 'ended'} title={t('signin.again')} onClose={() => undefined} isFirm isOpaque>
        <p>{t(certificateProblem.value === undefined ? 'signin.again.help' : 'signin.again.certificate')}</p>
        <SignIn />
      </Dialog>
      <Toasts />
    </>
  )
}
