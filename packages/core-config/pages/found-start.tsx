import { Notice, t, useQuery } from '@steeple/console/kit'

/** Where a new box is set up: that a core runs here already, and where it is taken over. Nothing where the settings fit it. */
export function Panel() {
  const { data } = useQuery('/v1/core/found', {}, { on: ['config.*', 'core.*'] })
  if (data === undefined || data.core === null || (data.lines === '' && data.apns === null)) return null
  const { daemons, network } = data
  return (
    <Notice tone="none">
      <p>
        {t('core.found.start', {
          daemons: daemons.map(({ role }) => role).join(', '),
          plmn: network?.plmn ?? t('core.untold'),
        })}
      </p>
      <p>
        <a href="/core">{t('core.found.start.look')}</a>
      </p>
    </Notice>
  )
}
