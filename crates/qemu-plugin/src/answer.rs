//! An answer of CPUID: which bits of which register, in which leaf.

use std::str::FromStr;

/// Bits of one register that one leaf answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    leaf: u32,
    /// none: the leaf has no subleaves
    subleaf: Option<u32>,
    pub register: Register,
    mask: u32,
    bits: u32,
}

/// A register by its place in QEMU's `CPUX86State`, which begins with `regs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    Eax = 0,
    Ecx = 1,
    Edx = 2,
    Ebx = 3,
}

impl Answer {
    /// Whether it belongs to the leaf and subleaf that the guest asks for.
    pub fn is_of(&self, leaf: u32, subleaf: u32) -> bool {
        self.leaf == leaf && self.subleaf.is_none_or(|wanted| wanted == subleaf)
    }

    /// The register with these bits.
    pub fn put_into(&self, register: u32) -> u32 {
        register & !self.mask | self.bits
    }
}

impl FromStr for Answer {
    type Err = ();

    /// `<leaf>:<subleaf or *>:<register>:<mask>:<bits>`, numbers in hexadecimal.
    fn from_str(text: &str) -> Result<Answer, ()> {
        let hexadecimal = |text: &str| u32::from_str_radix(text, 16).map_err(|_| ());
        let [leaf, subleaf, register, mask, bits] = text.split(':').collect::<Vec<_>>()[..] else { return Err(()) };
        let (mask, bits) = (hexadecimal(mask)?, hexadecimal(bits)?);
        if bits & !mask != 0 {
            return Err(());
        }
        Ok(Answer {
            leaf: hexadecimal(leaf)?,
            subleaf: if subleaf == "*" { None } else { Some(hexadecimal(subleaf)?) },
            register: match register {
                "eax" => Register::Eax,
                "ebx" => Register::Ebx,
                "ecx" => Register::Ecx,
                "edx" => Register::Edx,
                _ => return Err(()),
            },
            mask,
            bits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_outside_of_their_mask_are_refused() {
        let answer: Answer = "4:3:ebx:ffffffff:3c0003f".parse().unwrap();
        assert!(answer.is_of(4, 3) && !answer.is_of(4, 2) && !answer.is_of(3, 3));
        let every: Answer = "80000006:*:edx:ffff0000:10000".parse().unwrap();
        assert!(every.is_of(0x8000_0006, 7));
        for wrong in ["4:3:ebx:ff:100", "4:3:ebp:ff:1", "4:3:ebx:ff", "4:x:ebx:ff:1"] {
            assert_eq!(wrong.parse::<Answer>(), Err(()), "{wrong}");
        }
    }
}
