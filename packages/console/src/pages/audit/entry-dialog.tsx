import { setFilters } from '../../app/router.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Time } from '../../ui/time.tsx'
import { whoText } from '../../ui/who.ts'
import { happened } from '../home/untold.ts'
import { actionText } from './actions.ts'
import { type Entry, toneOf } from './entry.ts'

/** All of one entry. */
export function EntryDialog({ entry, onClose }: { readonly entry: Entry; readonly onClose: () => void }) {
  const { principal, target, request_id: requestId } = entry
  const [who, kind] = [whoText(principal), word('audit.kind', principal.kind)]
  return (
    <Dialog isOpen title={actionText(happened(entry))} onClose={onClose}>
      <Facts
        facts={[
          [t('audit.entry.number'), entry.seq],
          [t('audit.when'), <Time key="at" at={entry.at} />],
          [t('audit.who'), who === kind ? who : `${who} (${kind})`],
          [t('audit.whoId'), <code key="id">{principal.id}</code>],
          [t('audit.action'), <code key="action">{entry.action}</code>],
          [t('audit.target'), <code key="target">{target}</code>],
          [
            t('audit.outcome'),
            <Lamp key="outcome" tone={toneOf(entry.outcome)} label={word('audit.outcome', entry.outcome)} />,
          ],
          ...Object.entries(entry.detail).map(
            ([name, value]) => [name.replaceAll('_', ' '), detailText(value)] as const,
          ),
          [
            t('audit.request'),
            requestId === null ? undefined : (
              <>
                <code>{requestId}</code> <Copy text={requestId} label={t('ui.copyRequestId')} />
              </>
            ),
          ],
          [t('audit.hash'), <code key="hash">{entry.hash}</code>],
        ]}
      />
      <div class="actions">
        <Button
          kind="quiet"
          onClick={() => {
            setFilters({ target })
            onClose()
          }}
        >
          {t('audit.onlyTarget')}
        </Button>
        <Button onClick={onClose}>{t('ui.close')}</Button>
      </div>
    </Dialog>
  )
}

function detailText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
