import { t } from '../../text/index.ts'
import { Copy } from '../../ui/copy.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Notice } from '../../ui/notice.tsx'
import type { Planned } from './use-settings.ts'

const RELOAD = 'sudo systemctl reload steeple'

/** What a person has to write where the service may not, and that it is waited for. */
export function ByHand({ planned }: { readonly planned: Planned }) {
  const { file, lines, fixed } = planned
  return (
    <Notice tone="warn">
      {fixed.length > 0 ? (
        <ul>
          {fixed.map(({ key, by }) => (
            <li key={key}>{t('start.byHand.fixed', { key, by })}</li>
          ))}
        </ul>
      ) : (
        <>
          <p>{t('start.byHand', { file })}</p>
          <pre>{lines}</pre>
          <p>
            <Copy text={lines} />
          </p>
          <p>
            {t('settings.reload')} <code>{RELOAD}</code>
          </p>
        </>
      )}
      <Lamp tone="warn" label={t('start.byHand.waiting')} />
    </Notice>
  )
}
