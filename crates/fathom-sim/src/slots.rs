//! Requests in flight, by the identifier that the device below uses.

/// Values with a number each, which is used again after the value was taken.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    values: Vec<Option<T>>,
    free: Vec<u64>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots {
            values: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slots<T> {
    /// Keeps a value; returns its number.
    pub fn put(&mut self, value: T) -> u64 {
        if let Some(number) = self.free.pop() {
            self.values[number as usize] = Some(value);
            return number;
        }
        self.values.push(Some(value));
        self.values.len() as u64 - 1
    }

    /// The value of a number.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.values.get_mut(number as usize)?.as_mut()
    }

    /// Takes the value of a number.
    pub fn take(&mut self, number: u64) -> Option<T> {
        let value = self.values.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(value)
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
