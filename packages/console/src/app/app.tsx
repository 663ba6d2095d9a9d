import { useEffect } from 'preact/hooks'
import { certificateProblem, signedIn } from '../api/session.ts'
import { SignIn } from '../pages/signin/sign-in.tsx'
import { t } from '../text/index.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Toasts } from '../ui/toast.tsx'
import { PAGES } from './pages.ts'
import { pagesOfPlugins } from './plugin-pages.tsx'
import { match } from './router.ts'
import { Shell } from './shell.tsx'

/** Whether the console has a page at that path. */
export function isPagePath(path: string): boolean {
  return [...PAGES, ...pagesOfPlugins()].some((page) => match(page.path, path) !== undefined)
}

/** Everything: signing in, or the pages with their frame. A session that ended is renewed over the page, so nothing is lost. */
export function App() {
  const state = signedIn.value
  useEffect(() => {
    document.title = t('app.name')
  }, [])
  if (state === 'asking') return null
  return (
    <>
      {state === 'out' ? (
        <main class="signin" id="page">
          <h1>{t('signin.title')}</h1>
          <SignIn />
        </main>
      ) : (
        <Shell />
      )}
      <Dialog isOpen={state === 'ended'} title={t('signin.again')} onClose={() => undefined} isFirm>
        <p>{t(certificateProblem.value === undefined ? 'signin.again.help' : 'signin.again.certificate')}</p>
        <SignIn />
      </Dialog>
      <Toasts />
    </>
  )
}
