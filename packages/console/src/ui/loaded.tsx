import type { ComponentChildren } from 'preact'
import type { Query } from '../api/use-query.ts'
import { t } from '../text/index.ts'
import { ErrorNotice } from './notice.tsx'
import { Progress } from './progress.tsx'

/** What a read gave: that it runs, why it failed (above what was known before), and what `children` make of it. */
export function Loaded<Data>({
  query,
  children,
}: {
  readonly query: Pick<Query<Data>, 'data' | 'error' | 'isLoading' | 'reload'>
  readonly children: (data: Data) => ComponentChildren
}) {
  const { data, error, isLoading, reload } = query
  return (
    <>
      <ErrorNotice error={error} onRetry={reload} />
      {isLoading ? <Progress label={t('app.loading')} /> : null}
      {data === undefined ? null : children(data)}
    </>
  )
}
