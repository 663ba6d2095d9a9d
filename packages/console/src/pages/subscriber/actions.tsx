import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction } from '../../api/use-query.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { navigate } from '../../app/router.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { StaleNotice } from '../../ui/stale-notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { ApnChoice, numberOf, Speed } from '../sims/order.tsx'
import { nameOf, pageOf, type Sim } from '../sims/sim.tsx'
import { follow, type SimDialogProps } from './follow.ts'

type Open = 'resume' | 'revoke' | 'label' | 'replace' | 'subscription'

/** What may be done with a SIM, by its state and by who looks. */
export function Actions({ sim, etag, onChanged }: Omit<SimDialogProps, 'onClose'>) {
  const [open, setOpen] = useState<Open>()
  const path = { imsi: sim.imsi_sha256_12 }
  const suspend = useAction(() => api.post('/v1/sims/{imsi}/suspend', { path }), {
    onDone: () => {
      onChanged()
      follow('suspend', path.imsi, nameOf(sim), () => void resume.run())
    },
  })
  const resume = useAction(() => api.post('/v1/sims/{imsi}/resume', { path }), {
    onDone: () => {
      onChanged()
      follow('resume', path.imsi, nameOf(sim))
    },
  })
  const isLive = sim.state === 'issued' || sim.state === 'in-use'
  const Opened = open && DIALOGS[open]
  const dialog = { sim, etag, onClose: () => setOpen(undefined), onChanged }
  return (
    <>
      <div class="toolbar">
        {(isLive || sim.state === 'suspended') && may('operator') ? (
          // One button, which keeps the focus as it turns into the other.
          <Button
            {...(isLive ? { icon: 'pause' } : { icon: 'play', kind: 'primary' })}
            onClick={() =>
              void (isLive
                ? suspend.run()
                : sim.suspend_reason === 'operator'
                  ? resume.run()
                  : setOpen('resume'))
            }
            isBusy={suspend.isBusy || resume.isBusy}
          >
            {t(isLive ? 'sims.bulk.suspend' : 'sims.bulk.resume')}
          </Button>
        ) : null}
        <FurtherButtons sim={sim} onOpen={setOpen} />
      </div>
      <ErrorNotice error={suspend.error} />
      <ErrorNotice error={resume.error} />
      {Opened === undefined ? null : <Opened {...dialog} />}
    </>
  )
}

/** What needs no more than a role and, but for its name, a SIM that is not over. */
const FURTHER = [
  { open: 'label', role: 'sim:issuer', icon: 'tag', text: 'sims.bulk.label' },
  { open: 'subscription', role: 'sim:issuer', icon: 'waypoints', text: 'sim.subscription' },
  { open: 'replace', role: 'sim:issuer', icon: 'refresh-cw', text: 'sim.replace' },
  { open: 'revoke', role: 'sim:admin', icon: 'ban', text: 'sims.bulk.revoke' },
] as const

function FurtherButtons({ sim, onOpen }: { readonly sim: Sim; readonly onOpen: (open: Open) => void }) {
  return (
    <>
      {FURTHER.filter(({ open, role }) => may(role) && (open === 'label' || sim.state !== 'revoked')).map(
        ({ open, icon, text }) => (
          <Button key={open} icon={icon} onClick={() => onOpen(open)}>
            {t(text)}
          </Button>
        ),
      )}
      <Panels on="subscriber.actions" sim={sim} />
    </>
  )
}

/** Lifts a suspension that no person has made: of the policy, or by what a plugin holds a SIM to. */
function ResumeDialog({ sim, onClose, onChanged }: SimDialogProps) {
  return (
    <FormDialog
      text="sim.resume"
      values={{ who: word('sims.reason', sim.suspend_reason ?? '') }}
      what={word('sim.resume', sim.suspend_reason ?? 'policy')}
      act={() =>
        api.post('/v1/sims/{imsi}/resume', { path: { imsi: sim.imsi_sha256_12 }, body: { override: true } })
      }
      onDone={() => {
        follow('resume', sim.imsi_sha256_12, nameOf(sim))
        onChanged()
        onClose()
      }}
      onClose={onClose}
    />
  )
}

/** Gives the subscriber another card in the place of this one. */
function ReplaceDialog({ sim, onClose }: SimDialogProps) {
  const hash = sim.imsi_sha256_12
  return (
    <FormDialog
      text="sim.replace"
      isDanger
      act={() => api.post('/v1/sims', { body: { replaces: hash } })}
      onDone={({ first }) => navigate(pageOf(first.imsi_sha256_12))}
      onClose={onClose}
    >
      <Panels on="sim.replace" replaces={hash} />
    </FormDialog>
  )
}

/** Ends a SIM for good, after the question. */
function RevokeDialog({ sim, onClose, onChanged }: SimDialogProps) {
  const [reason, setReason] = useState('')
  return (
    <FormDialog
      text="sim.revoke"
      confirm={t('sims.bulk.revoke')}
      isDanger
      act={() =>
        api.post('/v1/sims/{imsi}/revoke', {
          path: { imsi: sim.imsi_sha256_12 },
          body: reason.trim() === '' ? {} : { reason: reason.trim() },
        })
      }
      onDone={() => {
        follow('revoke', sim.imsi_sha256_12, nameOf(sim))
        onChanged()
        onClose()
      }}
      onClose={onClose}
    >
      <Field text="sims.reason" maxLength={256} value={reason} onInput={setReason} />
    </FormDialog>
  )
}

/** Gives a SIM a name; the one before can be had back. */
function LabelDialog({ sim, etag, onClose, onChanged }: SimDialogProps) {
  const draft = useDraft(sim.label ?? '')
  const path = { imsi: sim.imsi_sha256_12 }
  const change = async () => {
    const label = draft.value.trim() || null
    const answer = await api.post('/v1/sims/{imsi}/label', { path, body: { label }, ifMatch: etag })
    // Refused as stale: what is there now is read, and shown beside what is typed.
    if (!answer.ok) onChanged()
    return answer
  }
  const done = (_: unknown, ifMatch: string | undefined): void => {
    const undo = async (): Promise<void> => {
      const undone = await api.post('/v1/sims/{imsi}/label', { path, body: { label: sim.label }, ifMatch })
      if (!undone.ok) toast({ text: undone.error.message, tone: 'bad' })
      onChanged()
    }
    toast({ text: t('sim.labelled'), undo: () => void undo() })
    onChanged()
    onClose()
  }
  return (
    <FormDialog text="sims.label" isStale={draft.isStale} act={change} onDone={done} onClose={onClose}>
      {({ clear }) => (
        <>
          <Field text="sims.label" maxLength={64} isFocused value={draft.value} onInput={draft.set} />
          <StaleNotice draft={draft} text={String} onChosen={clear} />
        </>
      )}
    </FormDialog>
  )
}

const MEGA = 1_000_000

/** Gives a SIM other APNs and another speed. */
function SubscriptionDialog({ sim, etag, onClose, onChanged }: SimDialogProps) {
  const [apns, setApns] = useState<readonly string[]>()
  const [down, setDown] = useState<string>()
  const [up, setUp] = useState<string>()
  const bps = (typed: string): number => Math.round(numberOf(typed) * MEGA)
  // What is not touched is not said: it stays as others have set it.
  const body = {
    ...(apns === undefined ? {} : { apns }),
    ...(down === undefined ? {} : { downlink_bps: bps(down) }),
    ...(up === undefined ? {} : { uplink_bps: bps(up) }),
  }
  const change = async () => {
    const path = { imsi: sim.imsi_sha256_12 }
    const answer = await api.post('/v1/sims/{imsi}/subscription', { path, body, ifMatch: etag })
    // Refused as stale: what is there now is read.
    if (!answer.ok) onChanged()
    return answer
  }
  return (
    <FormDialog
      text="sim.subscription"
      isDisabled={apns?.length === 0 || Object.keys(body).length === 0}
      act={change}
      onDone={onChanged}
      onClose={onClose}
    >
      <ApnChoice legend={t('sim.apns')} also={sim.apns} chosen={apns ?? sim.apns} onChange={setApns} />
      <div class="pair">
        <Speed
          label={t('order.down')}
          value={down ?? String(sim.ambr.downlink_bps / MEGA)}
          onInput={setDown}
          isRequired
        />
        <Speed
          label={t('order.up')}
          value={up ?? String(sim.ambr.uplink_bps / MEGA)}
          onInput={setUp}
          isRequired
        />
      </div>
    </FormDialog>
  )
}

const DIALOGS: Readonly<Record<Open, (props: SimDialogProps) => ComponentChildren>> = {
  resume: ResumeDialog,
  revoke: RevokeDialog,
  label: LabelDialog,
  replace: ReplaceDialog,
  subscription: SubscriptionDialog,
}
