import { type AnswerOf, ButtonLink, hasLabCore, Notice, Progress, t, useQuery } from '@steeple/console/kit'

const FOUND = '/core?found'

/**
 * Where a new box is set up, and on the overview of one without a core: that a core runs here already, and where the way in is. Nothing
 * where the settings fit it.
 */
export function Panel({ isKnown, status }: { readonly isKnown?: unknown; readonly status?: Status }) {
  if (isKnown === undefined) return <AtStart />
  return status === undefined || usesOther(status) ? null : <OnOverview />
}

type Status = AnswerOf<'GET', '/v1/status'>

function AtStart() {
  const { data } = useQuery('/v1/status', {}, { on: ['config.*', 'health.*'] })
  return data === undefined || usesOther(data) ? null : <Look isOverview={false} />
}

/** Whether the box uses a core that is none of those found here: that of the lab, or one that is away. */
function usesOther(status: Status): boolean {
  return hasLabCore(status) || status.incidents.some(({ kind }) => kind === 'no_core')
}

/** A look at the whole machine is worth it only while the box has no core. */
function OnOverview() {
  const { data } = useQuery('/v1/core/plan', {}, { on: ['config.*', 'settings.*'] })
  return data?.state === 'unconfigured' ? <Look isOverview /> : null
}

function Look({ isOverview }: { readonly isOverview: boolean }) {
  const { data } = useQuery('/v1/core/found', {}, { on: ['config.*', 'core.*', 'settings.*'] })
  // The look takes a while, and who reads the page meanwhile must not take it for done.
  if (data === undefined) return isOverview ? null : <Progress label={t('core.found.looking')} />
  if (data.core === null || (data.lines === '' && data.apns === null)) return null
  const { daemons, network } = data
  const words = t('core.found.start', {
    daemons: [...new Set(daemons.map(({ role }) => role))].join(', '),
    plmn: network?.plmn ?? t('core.untold'),
  })
  if (isOverview)
    return (
      <li class="hint">
        <span class="words">{words}</span>
        <ButtonLink href={FOUND}>{t('core.found.start.look')}</ButtonLink>
      </li>
    )
  return (
    <Notice tone="none">
      <p>{words}</p>
      <p>
        <a href={FOUND}>{t('core.found.start.look')}</a>
      </p>
    </Notice>
  )
}
