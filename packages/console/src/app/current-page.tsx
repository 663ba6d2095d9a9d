import { Component, type ComponentChildren, type ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { areFeaturesKnown } from '../api/features.ts'
import { t } from '../text/index.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Progress } from '../ui/progress.tsx'
import type { PageProps } from './pages.ts'
import { pageAt, titleOf } from './pages-here.ts'
import { match, path } from './router.ts'

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
      <>
        <h1>{t('app.pageBroke')}</h1>
        <EmptyState
          title={t('app.pageBroke.help')}
          action={<Button onClick={() => location.reload()}>{t('app.reload')}</Button>}
        >
          <code>{String(error)}</code>
        </EmptyState>
      </>
    )
  }
}

/** What has been loaded for a pattern: the page, or that it could not be. */
interface Loaded {
  readonly pattern: string
  readonly Shown: ComponentType<PageProps> | undefined
}

/** The page at the address, loaded when it is first shown. */
export function CurrentPage() {
  const here = path.value
  const page = pageAt(here)
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined)
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
  if (page === undefined) return areFeaturesKnown() ? <NotFound /> : <Progress label={t('app.loading')} />
  if (loaded?.pattern !== page.path) return <Progress label={t('app.loading')} />
  const { Shown } = loaded
  if (Shown === undefined) return <Failed />
  // Another address of the same page is drawn anew: a module of a plugin reads once what stands in it.
  return (
    <PageGuard key={here}>
      <Shown params={match(page.path, here) ?? {}} />
    </PageGuard>
  )
}

function NotFound() {
  return (
    <>
      <h1>{t('app.notFound')}</h1>
      <EmptyState
        title={t('app.notFound.help')}
        action={<ButtonLink href="/">{t('home.title')}</ButtonLink>}
      />
    </>
  )
}

function Failed() {
  return (
    <>
      <h1>{t('app.pageBroke')}</h1>
      <EmptyState
        title={t('app.pageFailed')}
        action={<Button onClick={() => location.reload()}>{t('app.reload')}</Button>}
      />
    </>
  )
}
