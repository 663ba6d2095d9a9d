import { ErrorNotice, Progress, type RequestOf, t, useEffect, useQuery } from '@steeple/console/kit'
import { Planned } from './planned.tsx'

/** What a change would do to the core, before it is made: the files that differ, the daemons that restart, the phones that drop. */
export function Panel({
  change,
  onKnown,
}: {
  readonly change: NonNullable<RequestOf<'GET', '/v1/core/plan'>['query']>
  readonly onKnown?: () => void
}) {
  const { data, error, isLoading, reload } = useQuery(
    '/v1/core/plan',
    { query: change },
    { on: ['core.*', 'config.*', 'policy.*'] },
  )
  useEffect(() => {
    if (!isLoading) onKnown?.()
  }, [isLoading])
  return (
    <section aria-label={t('core.whatIf')}>
      <h3>{t('core.whatIf')}</h3>
      <ErrorNotice error={error} onRetry={reload} />
      {isLoading ? <Progress label={t('app.loading')} /> : null}
      {data === undefined ? null : <Planned plan={data} words="core.whatIf.state" />}
    </section>
  )
}
