import { Component, type ComponentChildren } from 'preact'
import { t } from '../text/index.ts'
import { Button } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'

interface Failure {
  readonly error?: unknown
}

/** Keeps what fails in a page to that page: menu, Stop and the other pages go on. */
export class PageGuard extends Component<{ readonly children: ComponentChildren }, Failure> {
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
